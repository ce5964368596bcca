"""T5: an encoder–decoder that knows positions by distance alone."""
