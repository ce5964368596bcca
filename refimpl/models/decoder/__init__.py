"""Decoder-only models (Llama, Mixtral, GPT-NeoX, Bloom, …): one text, and the parts in which they differ."""
