"""A program for the environment of `transformers` 4.36: save a random model, or load a folder; tell what it computes.

``python transformer_xl_folder.py save|load FOLDER RESULT [CLASS SETTINGS]``
"""

import json
import sys

import numpy as np
import torch
import transformers


def main(command, folder, result, class_name="", settings="{}"):
    if command == "save":
        torch.manual_seed(0)
        model = getattr(transformers, class_name)(transformers.TransfoXLConfig(**json.loads(settings))).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.5)
        model.save_pretrained(folder)
        told = {}
    else:
        with open(f"{folder}/config.json") as file:
            (class_name,) = json.load(file)["architectures"]
        model, told = getattr(transformers, class_name).from_pretrained(folder, output_loading_info=True)
        model = model.eval()
    memory = torch.linspace(-1, 1, model.config.n_layer * 2 * 3 * model.config.d_model)
    memory = memory.reshape(model.config.n_layer, 3, 2, model.config.d_model)
    ids = torch.arange(10).reshape(2, 5) % model.config.vocab_size
    with torch.no_grad():
        found = model(ids, mems=[*memory])
    first = found.prediction_scores if "prediction_scores" in found else found.last_hidden_state
    np.savez(result, output=first.numpy(), memory=memory.transpose(1, 2).numpy(), ids=ids.numpy(),
             told=json.dumps({key: list(value) for key, value in told.items()}))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
