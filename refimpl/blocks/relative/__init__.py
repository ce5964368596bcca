"""Transformer-XL: blocks that attend by distance, over a segment and the memory before it."""
