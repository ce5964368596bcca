"""Llama, Mistral, Mixtral, Qwen2-MoE, GPT-NeoX and Bloom."""
