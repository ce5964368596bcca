"""Mixtures of experts: many feed-forward networks, of which every token sees a few."""
