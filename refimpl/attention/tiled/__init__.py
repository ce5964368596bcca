"""The scores in tiles, and what is attended in parts merged."""
