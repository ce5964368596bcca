"""Transformer-XL: a language model that remembers earlier segments (Dai et al. 2019, arXiv:1901.02860)."""
