"""What the models of a folder read: random tokens, or those of a text, as many as they have places for."""

import numpy as np

from compare.folder.ours import KINDS, reads_two
from refimpl.checkpoints import CheckpointError
from refimpl.checkpoints.ledger import conventions

# Tokens of a model that names no limit.
MOST = 2**31
N_TOKEN = 12


def draw_inputs(model_type, config, *, n_batch=2, n_seq=N_TOKEN, seed=0, token_ids=None):
    """Draw what a model reads.

    Parameters
    ----------
    model_type : str
        Its family.
    config : object
        Knows the vocabulary.
    n_batch, n_seq : int
        How many texts, of how many tokens.
    seed : int
        Of the generator.
    token_ids : numpy.ndarray of int, shape (n_batch, n_seq), optional
        The texts, where they are not drawn.

    Returns
    -------
    dict of (str, numpy.ndarray)
        ``"token_ids"``; for an encoder–decoder also ``"target_ids"``, for CLIP ``"images"``, and for Transformer-XL
        ``"memory"``, of as many positions as there are tokens, where it remembers so many.
    """
    generator = np.random.default_rng(seed)
    if token_ids is not None:
        n_batch, n_seq = token_ids.shape
    shapes = input_shapes(model_type, config, n_batch=n_batch, n_seq=n_seq)
    drawn = {
        key: _tokens(generator, config, shape) if key.endswith("ids") else _normal(generator, shape)
        for key, shape in shapes.items()
    }
    return drawn if token_ids is None else {key: token_ids if key.endswith("ids") else x for key, x in drawn.items()}


def input_shapes(model_type, config, *, n_batch, n_seq):
    """List what a model reads.

    Parameters
    ----------
    model_type : str
        Its family.
    config : object
        Its sizes.
    n_batch, n_seq : int
        How many texts, of how many tokens.

    Returns
    -------
    dict of (str, tuple of int)
        The shapes.
    """
    shapes = {"token_ids": (n_batch, n_seq)}
    if reads_two(model_type):
        shapes["target_ids"] = (n_batch, max(1, n_seq - 3))
    if KINDS[model_type] == "clip":
        shapes = {"images": (n_batch, config.n_channel, config.image_size, config.image_size), **shapes}
    if KINDS[model_type] == "transformer_xl":
        shapes["memory"] = (config.n_layer, n_batch, min(n_seq, config.n_memory), config.d_model)
    return shapes


def _tokens(generator, config, shape):
    # Padding is no text: it has no place in some families, and ends a text in others.
    ends = getattr(config, "eos_id", None)
    special = {getattr(config, "pad_id", None), *(ends if isinstance(ends, tuple) else (ends,))}
    allowed = [token for token in range(config.vocab_size) if token not in special] or [0]
    return generator.choice(np.array(allowed), shape)


def _normal(generator, shape):
    return generator.standard_normal(shape).astype(np.float32).astype(np.float64)


def random_length(checkpoint, n_token=None):
    """Say of how many tokens random texts are.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    n_token : int, optional
        How many the user wants; by default `N_TOKEN`, or as many as there are positions.

    Returns
    -------
    n_seq : int
        How many they get.
    note : str
        Why these are not as many as they wanted; or nothing.

    Raises
    ------
    CheckpointError
        If there are not so many positions.
    """
    longest, why, window = _places(checkpoint)
    if n_token is not None and n_token > longest:
        raise CheckpointError(f"--tokens must be at most {longest} ({why}), got {n_token}")
    n_seq = min(-(-(n_token or N_TOKEN) // window), longest // window) * window
    if not n_seq:
        raise CheckpointError(f"expected positions for a window of {window} tokens, got {why}")
    note = "" if n_token in (None, n_seq) else f"--tokens {n_token}: the models read {n_seq}, {_windows(window)}"
    return n_seq, note


def text_length(checkpoint, n_token):
    """Say how many tokens of a text a model reads.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    n_token : int
        How many there are.

    Returns
    -------
    n_seq : int
        How many it reads.
    note : str
        Why it does not read all; or nothing.

    Raises
    ------
    CheckpointError
        If it reads none.
    """
    longest, why, window = _places(checkpoint)
    n_seq = min(n_token, longest) // window * window
    if not n_seq:
        raise CheckpointError(f"expected a text of {window} tokens or more, {_windows(window)}, got {n_token}")
    if n_seq == n_token:
        return n_seq, ""
    reason = why if n_token > longest else _windows(window)
    return n_seq, f"the text has {n_token} tokens, and the models read the first {n_seq} of them ({reason})"


def _windows(window):
    return f"for this model reads whole windows of {window}"


def _places(checkpoint):
    """Find how many tokens there are places for, why, and of what length texts are multiples."""
    config, settings = checkpoint.config, checkpoint.settings
    # A model with rotary positions has no table of them, and names their number only in config.json.
    named = settings.get("max_position_embeddings")
    n_position = getattr(config, "n_position", named if isinstance(named, int) else MOST)
    # Where positions are counted from behind the padding token, so many rows of their table have no place.
    n_lost = config.pad_id + 1 if isinstance(conventions(checkpoint.model_type).position_offset, str) else 0
    why = f"n_position = {n_position}" + (f", {n_lost} of them for no token" if n_lost else "")
    # Longformer of `transformers` pads to whole windows, and its layers read the padding too.
    window = 2 * max(getattr(config, "reaches", (0,))) or 1
    return n_position - n_lost, why, window
