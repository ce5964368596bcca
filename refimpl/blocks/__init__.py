"""Blocks: what layers and attention add up to."""
