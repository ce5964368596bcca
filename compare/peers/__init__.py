"""Ways to run an implementation: the reference on an array library, PyTorch, and independent derivatives."""
