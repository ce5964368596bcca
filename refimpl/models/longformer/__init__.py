"""Longformer: an encoder for long texts, of local and global attention."""
