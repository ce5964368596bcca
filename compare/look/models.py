"""A BERT and a GPT to look at, each with its tokens for one text."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from refimpl.checkpoints import Checkpoint, CheckpointError, load_folder

# Of the GPT that is trained where none is given: small enough for half a minute.
SIZES = {"layers": 4, "heads": 4, "width": 96}
CONTEXT = 64
VOCABULARY = 1024
KNOWN = ("bert", "gpt2", "openai-gpt")
TRAINED_ON = 2_000_000  # characters


@dataclass(frozen=True)
class Reader:
    """A model, and what a text is to it.

    Attributes
    ----------
    title : str
        What it is.
    checkpoint : Checkpoint
        The model, in float32.
    token_ids : list of int
        The text.
    tokens : list of str
        The same in words.
    """

    title: str
    checkpoint: Checkpoint
    token_ids: list
    tokens: list


def folder_reader(folder, text, title):
    """Load a model and its tokenizer from a folder.

    Parameters
    ----------
    folder : path-like
        With config.json, weights, and tokenizer.json.
    text : str
        What it shall read.
    title : str
        What it is called.

    Returns
    -------
    Reader
        The model with the text.

    Raises
    ------
    CheckpointError
        If the folder is refused, or has no tokenizer.
    """
    from tokenizers import Tokenizer

    checkpoint = load_folder(folder)
    if checkpoint.model_type not in KNOWN:
        raise CheckpointError(f"{folder}: expected a model of {', '.join(KNOWN)}, got {checkpoint.model_type}")
    path = Path(folder) / "tokenizer.json"
    if not path.is_file():
        raise CheckpointError(f"{path}: expected a tokenizer, got nothing there")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise CheckpointError(f"{path}: expected a tokenizer, got {error}") from error
    tokenizer.no_padding()
    params = {key: np.asarray(x, np.float32) for key, x in checkpoint.params.items()}
    return _reader(title, replace(checkpoint, params=params), tokenizer, text)


def trained_reader(corpus, text, n_step, *, watch=lambda steps: steps):
    """Train a small GPT on a text.

    Parameters
    ----------
    corpus : path-like or None
        What it is trained on; by default Shakespeare.
    text : str
        What it shall read.
    n_step : int
        How many steps.
    watch : callable, optional
        Wraps the steps, as a progress bar does.

    Returns
    -------
    Reader
        The model with the text.

    Raises
    ------
    CheckpointError
        If there is no text to train on.
    """
    from refimpl.commands.corpus import read_corpus
    from refimpl.commands.small_gpt import training
    from refimpl.commands.train import plan_of
    from refimpl.commands.vocabulary import byte_pairs

    written = read_corpus(corpus)[:TRAINED_ON]
    tokenizer = byte_pairs(written, VOCABULARY)
    settings = {"steps": n_step, "batch": 8, "context": CONTEXT, "seed": 0, "dtype": "float32", "learning_rate": 3e-3}
    plan = plan_of(tokenizer, SIZES, settings)
    for progress in watch(training(plan, np.array(tokenizer.encode(written).ids))):
        params, loss = progress.params, progress.loss
    title = f"GPT-2 of {SIZES['layers']} layers, {n_step} steps old (loss {loss:.2f})"
    return _reader(title, Checkpoint("gpt2", params, plan.config), tokenizer, text)


def _reader(title, checkpoint, tokenizer, text):
    encoding = tokenizer.encode(text)
    n_seq = min(len(encoding.ids), checkpoint.config.n_position)
    if not n_seq:
        raise CheckpointError("expected a text of at least one token, got none")
    # Byte pairs keep a blank as Ġ and a line break as Ċ.
    tokens = [token.replace("Ġ", "␣").replace("Ċ", "↵") for token in encoding.tokens[:n_seq]]
    return Reader(title, checkpoint, list(encoding.ids[:n_seq]), tokens)
