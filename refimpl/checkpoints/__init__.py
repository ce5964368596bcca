"""Reading and writing the weights of trained models; every file is hostile until read."""
