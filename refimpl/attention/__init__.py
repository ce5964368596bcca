"""Attention in all its forms."""
