"""BERT, RoBERTa, DistilBERT and ALBERT."""
