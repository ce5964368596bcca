"""Fewer heads of keys and values than of queries."""
