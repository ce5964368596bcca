"""Whole trainings, compared step by step."""
