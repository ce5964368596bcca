"""Training: from gradients to better parameters; no file here knows any model."""
