"""What is compared: one file per component."""
