"""The same text through a BERT and a GPT: what attends to what, and what it takes."""
