"""Bart, Marian and Pegasus."""
