"""A program for the environment of `transformers` 4.36: save a random Transformer-XL, and tell what it writes.

``python transformer_xl_writes.py FOLDER``; standard input: JSON of its settings, of a prompt, and of what to ask;
standard output: JSON of the new tokens.
"""

import json
import sys

import torch
import transformers

asked = json.load(sys.stdin)
torch.manual_seed(0)
model = transformers.TransfoXLLMHeadModel(transformers.TransfoXLConfig(**asked["settings"])).eval()
with torch.no_grad():
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
model.save_pretrained(sys.argv[1])
told = []
for each in asked["calls"]:
    out = model.generate(torch.tensor([asked["prompt"]]), max_new_tokens=asked["n_new"], **each)
    told.append(out[:, len(asked["prompt"]) :].tolist())
json.dump(told, sys.stdout)
