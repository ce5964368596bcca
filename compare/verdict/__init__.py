"""From two arrays to a verdict."""
