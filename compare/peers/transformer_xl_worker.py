"""Run a Transformer-XL of `transformers` 4.36, in whose environment this file is started as a program.

It knows nothing of the rest of this package.  A message is eight bytes with a length and as many bytes of an npz file;
what is asked, and what went wrong, are JSON in its entry ``note``.  Every request brings all that it needs and leaves
nothing behind but a model without numbers; at the end of its input the program ends.
"""

import io
import json
import os
import struct
import sys
import traceback
from contextlib import nullcontext
from functools import cache
from unittest.mock import patch

import numpy as np


@cache
def build(class_name, settings, dtype):
    """Build a model whose parameters will be replaced.

    Parameters
    ----------
    class_name : str
        ``TransfoXLModel`` or ``TransfoXLLMHeadModel``.
    settings : str
        The settings of its configuration, as JSON.
    dtype : str
        The dtype of its constants: the frequencies of its positions are computed when it is built.

    Returns
    -------
    torch.nn.Module
        The model, in evaluation mode.
    """
    import torch
    import transformers

    torch.set_default_dtype(getattr(torch, dtype))
    config = transformers.TransfoXLConfig(**json.loads(settings), trainer_compatible=True)
    return getattr(transformers, class_name)(config).eval()


def answer(note, arrays):
    """Run a model forward and, where there are cotangents, backward.

    Parameters
    ----------
    note : dict
        ``class_name``, ``settings``, ``dtype``, and ``n_layer``, the number of memories.
    arrays : dict of numpy.ndarray
        ``param:*`` by the names of the model, ``ids``, ``memory`` (n_layer, n_batch, n_before, d_model), perhaps
        ``labels``, and cotangents ``dy:*`` by the names of the outputs.

    Returns
    -------
    dict of numpy.ndarray
        The outputs by name: ``state{i}``, ``memory``, and ``scores`` or ``loss`` of a model with a head; or, with
        cotangents, the gradients of ``param:*`` and ``memory``.  No gradient goes into the memory that comes out.
    """
    import torch

    model = build(note["class_name"], json.dumps(note["settings"], sort_keys=True), note["dtype"])
    tensors = {key: torch.from_numpy(x) for key, x in arrays.items()}
    leaves = {key: x.requires_grad_() for key, x in tensors.items() if key.startswith("param:") or key == "memory"}
    params = {key.removeprefix("param:"): x for key, x in leaves.items() if key != "memory"}
    keywords = {
        "input_ids": tensors["ids"],
        "mems": [memory.transpose(0, 1) for memory in tensors["memory"]],
        "output_hidden_states": True,
        # The model may write into its labels.
        **({"labels": tensors["labels"].clone()} if "labels" in tensors else {}),
    }
    with _wide(note["dtype"]):
        found = torch.func.functional_call(model, params, (), keywords, tie_weights=False)
    outputs = {f"state{i}": state for i, state in enumerate(found.hidden_states)}
    outputs["memory"] = torch.stack([memory.transpose(0, 1) for memory in found.mems])
    if note["class_name"] == "TransfoXLLMHeadModel":
        name = "loss" if "labels" in tensors else "scores"
        outputs[name] = found.loss if name == "loss" else found.prediction_scores
    wanted = [key for key in tensors if key.startswith("dy:") and outputs[key[3:]].requires_grad]
    if not wanted:
        return {key: output.detach().numpy() for key, output in outputs.items()}
    gradients = torch.autograd.grad(
        [outputs[key[3:]] for key in wanted], list(leaves.values()), [tensors[key] for key in wanted],
        materialize_grads=True,
    )  # fmt: skip
    return {key: gradient.numpy() for key, gradient in zip(leaves, gradients, strict=True)}


def show(note, arrays):
    """Load a model from a folder, run it, and show what each stage returns.

    Parameters
    ----------
    note : dict
        ``folder``, ``class_name`` and ``dtype``.
    arrays : dict of numpy.ndarray
        ``ids``, ``memory`` (n_layer, n_batch, n_before, d_model), and perhaps ``true:*``, what the stage of this name
        shall hand to the next one instead of what it returns.

    Returns
    -------
    dict of numpy.ndarray
        ``embeddings``, ``layer {i}``, and the ``log-probabilities`` of a model with a head.
    """
    import torch
    import transformers

    dtype = getattr(torch, note["dtype"])
    settings = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
    model = getattr(transformers, note["class_name"]).from_pretrained(note["folder"], **settings)
    model = model.to(dtype).eval()  # its projections are in float32 whatever is asked for
    base = getattr(model, "transformer", model)
    tensors = {key: torch.from_numpy(x) for key, x in arrays.items()}
    if note["dtype"] == "float64":  # a file has no more digits than float32 of what is no weight
        steps = torch.arange(0.0, model.config.d_model, 2.0, dtype=torch.float64)
        base.pos_emb.inv_freq = 1 / 10000 ** (steps / model.config.d_model)
    seen = {}

    def watched(stage):
        def hook(module, inputs, output):
            rest = None if isinstance(output, torch.Tensor) else output[1:]
            seen[stage] = (output if rest is None else output[0]).transpose(0, 1)
            if (true := tensors.get(f"true:{stage}")) is None:
                return None
            return true.transpose(0, 1) if rest is None else [true.transpose(0, 1), *rest]

        return hook

    base.word_emb.register_forward_hook(watched("embeddings"))
    for i, layer in enumerate(base.layers):
        layer.register_forward_hook(watched(f"layer {i}"))
    with torch.no_grad(), _wide(note["dtype"]):
        found = model(tensors["ids"], mems=[memory.transpose(0, 1) for memory in tensors["memory"]])
    if "prediction_scores" in found:
        seen["log-probabilities"] = found.prediction_scores
    return {stage: x.numpy() for stage, x in seen.items()}


def _wide(dtype):
    # The model masks its scores in float32 whatever its dtype, with the lowest number of its dtype: in float64 that
    # raises.  There, and only there, `Tensor.float` has to leave the scores as they are.
    import torch

    return patch.object(torch.Tensor, "float", torch.Tensor.double) if dtype == "float64" else nullcontext()


def main():
    """Answer requests until there are no more."""
    # Whatever the libraries print must not stand between the answers.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while len(head := sys.stdin.buffer.read(8)) == 8:
        with np.load(io.BytesIO(sys.stdin.buffer.read(struct.unpack("<q", head)[0])), allow_pickle=False) as request:
            arrays = dict(request)
        try:
            asked = json.loads(str(arrays.pop("note")))
            found, note = (show if "folder" in asked else answer)(asked, arrays), {}
        except Exception as error:
            found, note = {}, {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        stream = io.BytesIO()
        np.savez(stream, note=json.dumps(note), **found)
        sink.write(struct.pack("<q", len(stream.getvalue())) + stream.getvalue())
        sink.flush()


if __name__ == "__main__":
    main()
