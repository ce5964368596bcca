"""Weights in several files, and the index that says which tensor lies in which."""

import re
from pathlib import Path

from refimpl.checkpoints.errors import refusal, shown
from refimpl.checkpoints.files.config import parse_object
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.files.stored import open_safetensors

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
SHARD = "model-{:05d}-of-{:05d}.safetensors"
SHARDS = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
MOST_BYTES = 32 * 2**20  # of an index
MOST_FILES = 10_000
# A plain name of a file in this folder: no separator, no drive, nothing hidden.
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,200}\.safetensors")


def open_shards(folder, *, max_bytes):
    """Read and check the index of a folder and the headers of the files it names, and no tensor.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.
    max_bytes : int
        Most bytes that the tensors of all files together may need.

    Returns
    -------
    dict of (str, Stored)
        The tensors by name, file after file.

    Raises
    ------
    CheckpointError
        If the index is no index, names a file outside the folder or one that is not there, a file is refused, a tensor
        lies in two files or in another one than the index says, or all of them together are too large.
    """
    where = _read_index(folder / INDEX)
    found = {}
    for name in sorted(set(where.values())):
        if not (folder / name).exists():
            n = sum(file == name for file in where.values())
            raise refusal(folder / INDEX, f"the shard {name}, with {n} of the tensors, in the folder", "nothing there")
        used = sum(stored.nbytes for stored in found.values())
        shard = open_safetensors(folder / name, max_bytes=max_bytes - used)
        _check_shard(folder, name, shard, where, found)
        found.update(shard)
    for name, file in where.items():
        if name not in found:
            raise refusal(folder / file, f"tensor {shown(name)}, as {INDEX} says", "a file without it")
    return found


def _read_index(path):
    index = parse_object(path, most_bytes=MOST_BYTES, max_depth=4)
    where = index.get("weight_map")
    if not isinstance(where, dict) or not where or len(where) > MOST_TENSORS:
        raise refusal(path, f"a weight_map of 1 to {MOST_TENSORS} tensors", shown(where))
    for name, file in where.items():
        if not isinstance(file, str) or not PLAIN.fullmatch(file):
            expected = f"tensor {shown(name)} in a .safetensors file of this folder, by its plain name"
            raise refusal(path, expected, shown(file))
    n_file = len(set(where.values()))
    if n_file > MOST_FILES:
        raise refusal(path, f"at most {MOST_FILES} shards", f"{n_file}")
    return where


def _check_shard(folder, name, shard, where, found):
    for tensor in shard:
        if tensor in found:
            first = found[tensor].file.path.name
            raise refusal(folder / name, f"tensor {shown(tensor)} in one shard", f"it in {first} too")
        if where.get(tensor) != name:
            said = f"it in {where[tensor]}" if tensor in where else "no such tensor"
            raise refusal(folder / INDEX, f"tensor {shown(tensor)} in {name}, where it lies", said)


def split_shards(tensors, max_shard_bytes):
    """Share tensors out among files, in their order, as Hugging Face does.

    Parameters
    ----------
    tensors : dict of (str, numpy.ndarray)
        The tensors.
    max_shard_bytes : int
        Most bytes of tensors in one file; a tensor that is larger has one of its own.

    Returns
    -------
    files : dict of (str, dict)
        By name of a file its tensors; one file alone is called model.safetensors.
    index : dict or None
        What the index holds, where there are several.
    """
    shards, open_shard, n_byte = [], {}, 0
    for name, tensor in tensors.items():
        if tensor.nbytes > max_shard_bytes:
            shards.append({name: tensor})
            continue
        if n_byte + tensor.nbytes > max_shard_bytes:
            shards.append(open_shard)
            open_shard, n_byte = {}, 0
        open_shard[name] = tensor
        n_byte += tensor.nbytes
    shards += [open_shard] if open_shard or not shards else []
    if len(shards) == 1:
        return {WEIGHTS: shards[0]}, None
    files = {SHARD.format(i + 1, len(shards)): shard for i, shard in enumerate(shards)}
    total = sum(tensor.nbytes for tensor in tensors.values())
    where = {name: file for file, shard in files.items() for name in shard}
    return files, {"metadata": {"total_size": total}, "weight_map": where}


def stale_files(folder, files):
    """Find the files of weights that an earlier checkpoint left, and a reader could take for this one's.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.
    files : container of str
        The files that belong to the checkpoint now.

    Returns
    -------
    list of str
        Those that do not.
    """
    return [
        path.name
        for path in Path(folder).iterdir()
        if path.name not in files and (path.name in (WEIGHTS, INDEX) or SHARDS.fullmatch(path.name))
    ]
