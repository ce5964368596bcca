"""A product of features in the place of the softmax."""
