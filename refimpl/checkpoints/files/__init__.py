"""Files of weights and of settings, as bytes: read as if a stranger had made them, written whole or not at all."""
