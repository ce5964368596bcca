"""Attention by distance."""
