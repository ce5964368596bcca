"""GPT-1, GPT-2 and GPT-3: one text, three settings."""
