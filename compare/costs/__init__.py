"""What models of published sizes cost: their own text, run on shape-only arrays."""
