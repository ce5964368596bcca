"""GPT-1 and GPT-2."""
