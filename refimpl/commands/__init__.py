"""What can be done from a terminal: here models, checkpoints, training and generation meet."""
