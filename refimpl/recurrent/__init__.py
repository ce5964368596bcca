"""Recurrent networks: what attention replaced."""
