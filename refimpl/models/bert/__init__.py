"""BERT and its relatives: encoders that read, and what they are asked."""
