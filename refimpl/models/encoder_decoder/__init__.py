"""The encoder–decoder Transformer for text: the original one, Marian and Bart."""
