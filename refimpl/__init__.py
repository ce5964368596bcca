"""Transformers and their ancestors as explicit array mathematics, each with its hand-written pullback."""

__version__ = "0.1.0"
