"""A model out of a folder, ready to write: its step function, its tokenizer, its limits."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from refimpl.arrays import asarray
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.folder import load_folder
from refimpl.checkpoints.tokenizer import load_tokenizer
from refimpl.generation import Model
from refimpl.layers.linear import linear
from refimpl.models.decoder.config import DecoderConfig
from refimpl.models.decoder.lm import HEAD as DECODER_HEAD
from refimpl.models.decoder.lm import TOKENS as DECODER_TABLE
from refimpl.models.decoder.step import decoder_read
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.heads import HEAD, TOKEN_TABLE
from refimpl.models.gpt.step import gpt_read

# How a model reads, and which parameter scores its states: its head, or where that is tied the table of its tokens.
READERS = {GptConfig: (gpt_read, HEAD, TOKEN_TABLE), DecoderConfig: (decoder_read, DECODER_HEAD, DECODER_TABLE)}


@dataclass(frozen=True)
class Writer:
    """A model that writes.

    Attributes
    ----------
    model : refimpl.generation.Model
        Its outputs are logits.
    with_states : refimpl.generation.Model
        Its outputs are logits and hidden states.
    tokenizer : tokenizers.Tokenizer
        Between its tokens and strings.
    like : array
        One of its parameters: where its tokens must be.
    vocab_size : int
        The number of its tokens.
    max_length : int or None
        The most positions it has.
    bos_id : int or None
        The token that begins a text.
    eos_ids : tuple of int
        The tokens that end one.
    """

    model: Model
    with_states: Model
    tokenizer: Any
    like: Any
    vocab_size: int
    max_length: int | None
    bos_id: int | None
    eos_ids: tuple


def load_writer(folder, *, dtype=None, backend_name="numpy", use_cache=True):
    """Load a model and its tokenizer.

    Parameters
    ----------
    folder : str or os.PathLike
        A folder as Hugging Face writes it.
    dtype : {"float32", "float64"}, optional
        What it computes in; by default what its weights are stored in.
    backend_name : {"numpy", "cupy"}, optional
        Where it computes.
    use_cache : bool, optional
        Whether it remembers keys and values.

    Returns
    -------
    Writer
        The model.

    Raises
    ------
    CheckpointError
        If the folder is refused, or its model does not write.
    """
    checkpoint = load_folder(folder)
    config = checkpoint.config
    if type(config) not in READERS or "classifier.weight" in checkpoint.params:
        raise CheckpointError(f"{folder}: expected a language model that writes from left to right, "
                              f"got {checkpoint.settings.get('architectures') or checkpoint.model_type}")  # fmt: skip
    params = {key: asarray(x, dtype=dtype or x.dtype, backend_name=backend_name)
              for key, x in checkpoint.params.items()}  # fmt: skip
    _, _, table = READERS[type(config)]
    step = partial(_step, params=params, config=config)
    return Writer(
        model=Model(partial(step, with_states=False), use_cache=use_cache),
        with_states=Model(partial(step, with_states=True), use_cache=use_cache),
        tokenizer=load_tokenizer(folder),
        like=params[table],
        vocab_size=config.vocab_size,
        max_length=getattr(config, "n_position", None),
        bos_id=checkpoint.settings.get("bos_token_id", getattr(config, "bos_id", None)),
        eos_ids=_as_tuple(checkpoint.settings.get("eos_token_id", getattr(config, "eos_id", None))),
    )


def _step(token_ids, cache, mask, *, params, config, with_states):
    read, head, table = READERS[type(config)]
    states, grown = read(token_ids, params, cache, config=config, mask=mask)
    logits, _ = linear(states, {"weight": params[head if head in params else table]})
    return (logits, states) if with_states else logits, grown


def _as_tuple(ids):
    return () if ids is None else tuple(ids) if isinstance(ids, (list, tuple)) else (ids,)
