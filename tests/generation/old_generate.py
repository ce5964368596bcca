"""Run by the Python of transformers 4.36.2: what its diverse and contrastive searches write.

Standard input: JSON of folders, prompts, masks and settings; standard output: JSON of the new tokens.
"""

import json
import sys

import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel

asked = json.load(sys.stdin)
written = []
for folder in asked["folders"]:
    with open(f"{folder}/config.json") as file:
        settings = json.load(file)
    model = GPT2LMHeadModel(GPT2Config(**{key: settings[key] for key in asked["keys"]})).eval()
    tensors = {name: tensor.float() for name, tensor in load_file(f"{folder}/model.safetensors").items()}
    missing = model.load_state_dict(tensors, strict=False)
    if missing.unexpected_keys or set(missing.missing_keys) - {"lm_head.weight"}:
        raise SystemExit(f"the weights do not fit: {missing}")
    model.tie_weights()
    for each in asked["calls"]:
        inputs = {"attention_mask": torch.tensor(each["mask"])}
        out = model.generate(torch.tensor(each["token_ids"]), **inputs, **asked["common"], **each["settings"])
        written.append(out[:, len(each["token_ids"][0]) :].tolist())
json.dump(written, sys.stdout)
