"""Whole models, built of blocks."""
