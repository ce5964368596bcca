"""Keys and values made of one small vector a position."""
