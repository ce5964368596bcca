"""Attention to some of the keys: bands, columns and global tokens."""
