"""Flamingo: a language model that is shown images between its words."""
