"""Attention before Transformers: a decoder's state asks the states of an encoder."""
