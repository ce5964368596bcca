"""CLIP: images and texts as vectors of one space."""
