"""A program for the environment of `transformers` 4.36: save random models, or load folders; tell what they compute.

``python transformer_xl_folder.py FOLDER…`` saves a model in every folder that holds a ``wanted.json``, and loads the
model of every other; what each computes goes to its ``told.npz``.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers


def save(folder, wanted):
    torch.manual_seed(0)
    model = getattr(transformers, wanted.pop("class_name"))(transformers.TransfoXLConfig(**wanted)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    model.save_pretrained(folder)
    return model, {}


def load(folder):
    (class_name,) = json.loads((folder / "config.json").read_text())["architectures"]
    model, told = getattr(transformers, class_name).from_pretrained(folder, output_loading_info=True)
    return model.eval(), told


def main(*folders):
    for folder in map(Path, folders):
        wanted = folder / "wanted.json"
        model, told = save(folder, json.loads(wanted.read_text())) if wanted.exists() else load(folder)
        memory = torch.linspace(-1, 1, model.config.n_layer * 2 * 3 * model.config.d_model)
        memory = memory.reshape(model.config.n_layer, 3, 2, model.config.d_model)
        ids = torch.arange(10).reshape(2, 5) % model.config.vocab_size
        with torch.no_grad():
            found = model(ids, mems=[*memory])
        output = found.prediction_scores if "prediction_scores" in found else found.last_hidden_state
        arrays = {"output": output.numpy(), "memory": memory.transpose(1, 2).numpy(), "ids": ids.numpy()}
        np.savez(folder / "told.npz", **arrays, told=json.dumps({key: list(value) for key, value in told.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
