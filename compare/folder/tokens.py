"""Real text for a folder that has its tokenizer."""

from pathlib import Path

import numpy as np

from refimpl.checkpoints import CheckpointError

MOST_BYTES = 32 * 2**20


def read_text(folder, text, config):
    """Tokenise a text with the tokenizer of a folder.

    Parameters
    ----------
    folder : str
        The folder.
    text : str
        The text.
    config : object
        Knows the vocabulary.

    Returns
    -------
    numpy.ndarray of int, shape (1, n_seq)
        All tokens of the text.

    Raises
    ------
    CheckpointError
        If there is no tokenizer, it cannot be read, or its tokens are none of the model.
    """
    from tokenizers import Tokenizer

    path = Path(folder) / "tokenizer.json"
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise CheckpointError(f"{path}: expected a tokenizer of at most {MOST_BYTES} bytes, got none; leave --text out")
    try:
        ids = Tokenizer.from_file(str(path)).encode(text).ids
    except Exception as error:  # the library raises nothing more precise
        raise CheckpointError(f"{path}: expected a tokenizer, got {error}") from error
    if not ids or max(ids) >= config.vocab_size:
        expected = f"tokens below vocab_size = {config.vocab_size}"
        raise CheckpointError(f"{path}: expected {expected}, got {max(ids, default='none')}")
    return np.array([ids])
