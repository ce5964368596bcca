"""A user's own checkpoint against `transformers`, layer by layer: who added the error, and who only passed it on."""
