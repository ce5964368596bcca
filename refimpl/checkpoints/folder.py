"""Checkpoints as Hugging Face keeps them: a folder with config.json and one or several files of weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from safetensors.numpy import save_file

from refimpl.checkpoints.errors import naming, refusal
from refimpl.checkpoints.families.decoder.rotary import OLD_KEYS
from refimpl.checkpoints.families.registry import family_named
from refimpl.checkpoints.files.atomic import atomic_files
from refimpl.checkpoints.files.config import read_config, write_config
from refimpl.checkpoints.files.pickles import pickle_refusal
from refimpl.checkpoints.files.reader import MAX_BYTES
from refimpl.checkpoints.files.shards import INDEX, WEIGHTS, open_shards, split_shards, stale_files
from refimpl.checkpoints.files.stored import open_safetensors
from refimpl.checkpoints.files.writer import check_host, storable
from refimpl.checkpoints.ledger import conventions

SETTINGS = "config.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
MAX_SHARD_BYTES = 5 * 10**9
REPLACED = ("dtype", "torch_dtype", "architectures")  # settings that say what lies in the files
LABELS = ("id2label", "label2id", "num_labels")


@dataclass(frozen=True)
class Checkpoint:
    """A trained model.

    Attributes
    ----------
    model_type : str
        Its family, as config.json calls it: a key of `refimpl.checkpoints.families.registry.FAMILIES`.
    params : dict of str to numpy.ndarray
        Our parameters, in the dtype of the file (bfloat16 as `read_safetensors` gives it).
    config : object
        The sizes and settings, of the family's class.
    settings : dict of str to object
        What config.json said.  `save_folder` writes it again where it still describes `config`; else it keeps what is
        no part of the mathematics.
    """

    model_type: str
    params: Mapping
    config: object
    settings: Mapping = field(default_factory=dict)


def load_folder(folder, *, max_bytes=MAX_BYTES):
    """Load a model from a folder as Hugging Face writes it.

    Parameters
    ----------
    folder : str or os.PathLike
        A folder with config.json, and with model.safetensors or, sharded, model.safetensors.index.json.
    max_bytes : int
        Most bytes that the weights may need.

    Returns
    -------
    Checkpoint
        The model in our names.  Names, shapes and sizes are checked before a tensor is read, and tensors are read one
        by one.

    Raises
    ------
    CheckpointError
        If a file is refused, the settings describe a model that `refimpl` does not have, or the tensors do not fit
        them: every setting is named by key and value, every tensor by name.
    """
    folder = Path(folder)
    settings = read_config(folder / SETTINGS)
    with naming(folder / SETTINGS):
        family = family_named(settings.get("model_type"))
        config = family.config_from_hf(settings)
    tensors = open_weights(folder, max_bytes=max_bytes)
    with naming(folder):
        params = family.names.from_hf(tensors, config)
    return Checkpoint(settings["model_type"], params, config, settings)


def open_weights(folder, *, max_bytes=MAX_BYTES):
    """Find the weights of a folder, and read and check the headers, but no tensor.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.
    max_bytes : int
        Most bytes that the weights may need.

    Returns
    -------
    dict of (str, Stored)
        The tensors by their own names.

    Raises
    ------
    CheckpointError
        If there are none, or pickles only, or a file is refused.
    """
    if (folder / WEIGHTS).exists():  # the one that `transformers` takes where there are both
        return open_safetensors(folder / WEIGHTS, max_bytes=max_bytes)
    if (folder / INDEX).exists():
        return open_shards(folder, max_bytes=max_bytes)
    for name in PICKLED:
        if (folder / name).exists():
            raise pickle_refusal(folder / name)
    raise refusal(folder / WEIGHTS, "a file", "nothing there")


def save_folder(folder, checkpoint, *, max_shard_bytes=MAX_SHARD_BYTES, beside=None):
    """Save a model so that `load_folder` and `transformers` load it; a failure leaves what was there before.

    Parameters
    ----------
    folder : str or os.PathLike
        Where it goes; made if it is not there.  Weights of an earlier checkpoint are replaced, other files stay.
    checkpoint : Checkpoint
        The model.
    max_shard_bytes : int
        Most bytes of weights in one file, unless one tensor alone is larger.
    beside : dict of (str, callable), optional
        More files that come and go with the weights, such as a tokenizer: by name ``write(path)``.

    Raises
    ------
    CheckpointError
        If the parameters do not fit the configuration, or the folder cannot be written.
    TypeError
        If a parameter is not a NumPy array.
    """
    folder = Path(folder)
    family = family_named(checkpoint.model_type)
    params, config = checkpoint.params, checkpoint.config
    for name, param in params.items():
        check_host(name, param)
    said = _said(checkpoint.settings)
    tensors = family.names.to_hf(params, config, said)
    files, index = split_shards(storable(tensors, path=folder / WEIGHTS), max_shard_bytes)
    settings = _settings(checkpoint, family, tensors)
    beside = beside or {}
    names = [*files, *([INDEX] if index else []), SETTINGS, *beside]
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stale = stale_files(folder, names)
        with atomic_files(folder, names, doors=(WEIGHTS, INDEX), stale=stale) as paths:
            for path, shard in zip(paths, files.values(), strict=False):
                save_file(shard, path, {"format": "pt"})
            if index:
                write_config(paths[len(files)], index)
            write_config(paths[names.index(SETTINGS)], settings)
            for name, write in beside.items():
                write(paths[names.index(name)])
    except OSError as error:
        raise refusal(folder, "a folder that can be written", error.strerror or str(error)) from error
    finally:
        if is_new and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _said(settings):
    said = settings.get("architectures")
    return [name for name in said if isinstance(name, str)] if isinstance(said, list) else []


def _settings(checkpoint, family, tensors):
    params, config = checkpoint.params, checkpoint.config
    groups, name = family.names.architecture(params, config, _said(checkpoint.settings))
    ours = {key: value for key, value in family.config_to_hf(config, groups).items() if key != "architectures"}
    kept = {key: value for key, value in checkpoint.settings.items() if key not in REPLACED}
    if not kept or family.config_from_hf(kept) != config:
        stale = {*LABELS, *OLD_KEYS, *conventions(checkpoint.model_type).other_keys}
        kept = {**{key: value for key, value in kept.items() if key not in stale}, **ours}
    dtypes = {str(tensor.dtype) for tensor in tensors.values()}
    dtype = {"dtype": dtypes.pop()} if len(dtypes) == 1 else {}
    return {**kept, **dtype, **({"architectures": [name]} if name else {})}
