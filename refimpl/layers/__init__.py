"""Layers: the smallest components."""
