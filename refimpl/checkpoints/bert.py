"""BERT checkpoints in the Hugging Face layout: a folder with config.json and model.safetensors."""

from pathlib import Path

from safetensors.numpy import save_file

from refimpl.checkpoints.atomic import atomic_files
from refimpl.checkpoints.bert_names import (
    CONSTANTS,
    HEADS,
    OLD_ENDINGS,
    PREFIX,
    REQUIRED,
    TIED,
    bert_rows,
    with_prefix,
)
from refimpl.checkpoints.bert_settings import bert_config_from_hf, bert_config_to_hf
from refimpl.checkpoints.config import read_config, write_config
from refimpl.checkpoints.errors import naming, refusal, shown
from refimpl.checkpoints.name_map import to_ours, to_theirs
from refimpl.checkpoints.pickles import pickle_refusal
from refimpl.checkpoints.reader import MAX_BYTES, read_safetensors
from refimpl.checkpoints.writer import storable

WEIGHTS = "model.safetensors"
SETTINGS = "config.json"
SHARDS = "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"


def load_bert(folder, *, max_bytes=MAX_BYTES):
    """Load a BERT with its weights.

    Parameters
    ----------
    folder : str or os.PathLike
        A folder with config.json and model.safetensors.
    max_bytes : int
        Most bytes that the weights may need.

    Returns
    -------
    params : dict of str to numpy.ndarray
        Our parameters, in the dtype of the file (bfloat16 as `read_safetensors` gives it).
    config : BertConfig
        The sizes and settings.

    Raises
    ------
    CheckpointError
        If a file is refused, the settings describe another model, or the tensors do not fit them.
    """
    folder = Path(folder)
    with naming(folder / SETTINGS):
        config = bert_config_from_hf(read_config(folder / SETTINGS))
    path = _find_weights(folder)
    tensors = read_safetensors(path, max_bytes=max_bytes)
    with naming(path):
        return from_hf_bert(tensors, config), config


def save_bert(folder, params, config):
    """Save a BERT so that `load_bert` and `transformers` load it; a failure leaves what was there before.

    Parameters
    ----------
    folder : str or os.PathLike
        Where config.json and model.safetensors go; made if it is not there.
    params : dict of str to numpy.ndarray
        Our parameters.
    config : BertConfig
        The sizes and settings.

    Raises
    ------
    CheckpointError
        If the parameters do not fit the configuration, or the folder cannot be written.
    TypeError
        If a parameter is not a NumPy array.
    """
    folder = Path(folder)
    tensors = to_hf_bert(storable(params, path=folder / WEIGHTS), config)
    groups = {row.group for row in bert_rows(config) if row.ours in params} - REQUIRED
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_files(folder, [WEIGHTS, SETTINGS]) as [weights, settings]:
            save_file(tensors, weights, {"format": "pt"})
            write_config(settings, bert_config_to_hf(config, groups))
    except OSError as error:
        raise refusal(folder, "a folder that can be written", error.strerror or str(error)) from error


def from_hf_bert(tensors, config):
    """Turn the tensors of a Hugging Face BERT into our parameters.

    Parameters
    ----------
    tensors : dict of str to numpy.ndarray
        Its tensors, with or without the prefix ``bert.``, and with any of the heads ``cls.predictions``,
        ``cls.seq_relationship`` and ``classifier``.
    config : BertConfig
        The sizes.

    Returns
    -------
    dict of str to numpy.ndarray
        Our parameters; query, key and value are fused into ``in_proj_weight`` and ``in_proj_bias``, every
        other array is shared with `tensors`.

    Raises
    ------
    CheckpointError
        If a tensor is missing, unexpected or of another shape, or the decoder of the masked-token head is
        not tied to the token embedding; every fault is named, up to 20.

    Notes
    -----
    The buffers ``position_ids`` and ``token_type_ids`` of older versions are constants, not weights: they
    are checked and left out.  ``LayerNorm.gamma`` and ``LayerNorm.beta``, older still, are read as weight and
    bias.
    """
    prefix = PREFIX if any(name.startswith(PREFIX) for name in tensors) else ""
    tensors, name_faults = _modern(tensors)
    tensors, tied_faults = _untied(tensors, prefix)
    tensors, constant_faults = _without_constants(tensors, prefix)
    faults = name_faults + tied_faults + constant_faults
    return to_ours(tensors, bert_rows(config, prefix), required=REQUIRED, faults=faults)


def to_hf_bert(params, config):
    """Turn our parameters into the tensors of a Hugging Face BERT, the inverse of `from_hf_bert`.

    Parameters
    ----------
    params : dict of str to array
        Our parameters.
    config : BertConfig
        The sizes.

    Returns
    -------
    dict of str to array
        The tensors, views of `params`; with the prefix ``bert.`` when there is a head, as Hugging Face names
        them.  The tied decoder weight is not repeated.

    Raises
    ------
    CheckpointError
        If a parameter is missing, unexpected or of another shape; every one is named, up to 20.
    """
    has_head = any(row.group in HEADS and row.ours in params for row in bert_rows(config))
    return to_theirs(params, bert_rows(config, PREFIX if has_head else ""), required=REQUIRED)


def _find_weights(folder):
    """Find the one file of weights; a sharded checkpoint (an index of several) is not read yet."""
    path = folder / WEIGHTS
    if path.exists():
        return path
    if (folder / SHARDS).exists():
        raise refusal(path, "the weights in one file", f"an index of several, {SHARDS}")
    if (folder / PICKLED).exists():
        raise pickle_refusal(folder / PICKLED)
    raise refusal(path, "a file", "nothing there")


def _modern(tensors):
    renamed, faults = {}, []
    for name, tensor in tensors.items():
        new = _modern_name(name)
        if new != name and new in tensors:
            faults.append(f"{shown(name)} must not stand beside {shown(new)}, its newer name")
        renamed[new] = tensor
    return renamed, faults


def _modern_name(name):
    for old, new in OLD_ENDINGS.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _untied(tensors, prefix):
    kept, faults = {name: tensor for name, tensor in tensors.items() if name not in TIED}, []
    for second, first in TIED.items():
        first = with_prefix(prefix, first)
        if second in tensors and not _same_bits(tensors[second], kept.setdefault(first, tensors[second])):
            faults.append(f"{second} must equal {first}: refimpl has only the tied decoder")
    return kept, faults


def _same_bits(a, b):
    return a is b or (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def _without_constants(tensors, prefix):
    makers = {with_prefix(prefix, name): make for name, make in CONSTANTS.items()}
    faults = [
        f"{name} must hold the constants of numpy.{make.__name__}, got {shown(tensors[name].tolist())}"
        for name, make in makers.items()
        if name in tensors and tensors[name].ravel().tolist() != make(tensors[name].size).tolist()
    ]
    return {name: tensor for name, tensor in tensors.items() if name not in makers}, faults
