"""Comparison of `refimpl` with PyTorch on outputs, gradients, memory and throughput."""

from refimpl import __version__

__all__ = ["__version__"]
