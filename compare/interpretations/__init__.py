"""Kinds of arrays that give the one text another meaning: tolerance, device rules, cost."""
