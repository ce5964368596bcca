"""`transformers` 4.36.2, the last with a Transformer-XL that runs, in an environment of its own beside ours."""

import io
import json
import os
import struct
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-transformer-xl" / "bin" / "python"
READY = PYTHON.parents[1] / ".ready"
WORKER = Path(__file__).with_name("transformer_xl_worker.py")


def what_is_missing():
    """Say whether the environment is there.

    Returns
    -------
    str
        Empty, or a sentence that says what is missing and how to get it.
    """
    if PYTHON.exists() and READY.exists():
        return ""
    return "its environment is not there; `make transformer-xl` builds it"


@cache
def _worker(_pid):
    """Start the other Python once for each process; it ends with the one that holds its input."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    return subprocess.Popen(
        [PYTHON, "-I", "-W", "ignore", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def ask(note, arrays):
    """Ask the other environment.

    Parameters
    ----------
    note : dict
        What is wanted, as JSON can hold it.
    arrays : dict of numpy.ndarray
        What it is computed from.

    Returns
    -------
    dict of numpy.ndarray
        The answer.

    Raises
    ------
    RuntimeError
        If the environment is missing, its Python ended, or the model raised.
    """
    if missing := what_is_missing():
        raise RuntimeError(f"transformers 4.36.2 cannot run: {missing}")
    stream = io.BytesIO()
    np.savez(stream, note=json.dumps(note), **arrays)
    worker = _worker(os.getpid())
    try:
        worker.stdin.write(struct.pack("<q", len(stream.getvalue())) + stream.getvalue())
        worker.stdin.flush()
        head = worker.stdout.read(8)
    except OSError:
        head = b""
    if len(head) < 8:
        _worker.cache_clear()
        raise RuntimeError("the Python of transformers 4.36.2 ended without an answer")
    with np.load(io.BytesIO(worker.stdout.read(struct.unpack("<q", head)[0])), allow_pickle=False) as file:
        found = dict(file)
    told = json.loads(str(found.pop("note")))
    if told:
        raise RuntimeError(told["error"])
    return found


class Remote(torch.autograd.Function):
    """A model in the other environment, as one operation of our autograd graph."""

    @staticmethod
    def forward(ctx, note, constants, names, outputs, *tensors):
        """Ask for the outputs.

        Parameters
        ----------
        ctx : object
            What PyTorch keeps for the backward.
        note : dict
            As for `ask`.
        constants : dict of numpy.ndarray
            Arrays without a gradient.
        names : tuple of str
            The names of the tensors.
        outputs : tuple of str
            The names of the outputs.
        *tensors : torch.Tensor
            Arrays with a gradient.

        Returns
        -------
        tuple of torch.Tensor
            The outputs.
        """
        arrays = {**constants, **{name: x.detach().numpy() for name, x in zip(names, tensors, strict=True)}}
        ctx.asked, ctx.names, ctx.outputs = (note, arrays), names, outputs
        found = ask(note, arrays)
        return tuple(torch.from_numpy(found[name]) for name in outputs)

    @staticmethod
    def backward(ctx, *cotangents):
        """Ask for the gradients.

        Parameters
        ----------
        ctx : object
            What the forward kept.
        *cotangents : torch.Tensor
            One for each output.

        Returns
        -------
        tuple of torch.Tensor or None
            One for each argument of the forward.
        """
        note, arrays = ctx.asked
        named = {f"dy:{name}": dy.numpy() for name, dy in zip(ctx.outputs, cotangents, strict=True)}
        found = ask(note, {**arrays, **named})
        return (None, None, None, None, *[torch.from_numpy(found[name]) for name in ctx.names])
