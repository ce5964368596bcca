"""Pickles are never read: unpickling runs whatever program the file holds."""

import re
import shlex
from pathlib import Path

from refimpl.checkpoints.errors import CheckpointError

SUFFIXES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
PICKLE = re.compile(rb"\x80[\x02-\x05].{6}[^{]", re.DOTALL)  # a safetensors file has a { in that place
SAFE_NAMES = {"pytorch_model.bin": "model.safetensors"}  # the standard names inside a model's folder

CONVERT = (
    "import sys, torch; from safetensors.torch import save_file; "
    "weights = torch.load(sys.argv[1], map_location='cpu', weights_only=True); "
    "save_file({name: w.clone().contiguous() for name, w in weights.items()}, sys.argv[2], {'format': 'pt'})"
)
CONVERT_SHARDS = (
    "import json, pathlib, sys, torch; from safetensors.torch import save_file; "
    "index = pathlib.Path(sys.argv[1]); files = set(json.loads(index.read_text())['weight_map'].values()); "
    "parts = [torch.load(index.parent / file, map_location='cpu', weights_only=True) for file in sorted(files)]; "
    "weights = {name: w.clone().contiguous() for part in parts for name, w in part.items()}; "
    "save_file(weights, sys.argv[2], {'format': 'pt'})"
)


def refuse_pickle(path, head):
    """Refuse a file that is a pickle by name or by content.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    head : bytes
        Its first bytes, at least nine where it has them.

    Raises
    ------
    CheckpointError
        If it is a pickle; the message names the risk and the command that converts it.
    """
    if path.suffix.lower() in SUFFIXES or PICKLE.match(head):
        raise pickle_refusal(path)


def pickle_refusal(path):
    """Compose the error that refuses a pickle.

    Parameters
    ----------
    path : str or os.PathLike
        The file, or the index of several.

    Returns
    -------
    CheckpointError
        The error, for the caller to raise.
    """
    path = Path(path)
    if path.suffix == ".json":
        convert, target = CONVERT_SHARDS, path.with_name("model.safetensors")
    else:
        convert, target = CONVERT, _target(path)
    command = f"python -c {shlex.quote(convert)} {shlex.quote(str(path))} {shlex.quote(str(target))}"
    return CheckpointError(
        f"{path}: expected a safetensors file, got a Python pickle. Loading a pickle can run any program "
        "hidden in it, so it is never read here. If you trust where it came from, convert it once, with "
        f"weights_only=True, which lets it build tensors only: {command}"
    )


def _target(path):
    return path.with_name(SAFE_NAMES.get(path.name, path.stem + ".safetensors"))
