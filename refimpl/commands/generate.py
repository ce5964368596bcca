"""Write texts with any method, and show them as they are written."""

import sys
import time
from dataclasses import replace

import numpy as np

from refimpl.commands.options import EARLY, Usage, chosen, flag
from refimpl.commands.writer import load_writer
from refimpl.generation import (
    Constraints,
    Filters,
    Stop,
    beam_search,
    contrastive,
    greedy,
    pad_left,
    pieces,
    sample,
    speculative,
)


def prompts_of(writer, strings):
    """Turn strings into prompts.

    Parameters
    ----------
    writer : Writer
        The model.
    strings : list of str
        The prompts; none, or an empty one, begins with the token that begins a text.

    Returns
    -------
    token_ids, mask : array
        As `pad_left` gives them.

    Raises
    ------
    Usage
        If there is nothing to begin with, or a prompt is too long for the model.
    """
    prompts = []
    for string in strings or [""]:
        tokens = _encoded(writer, "prompt", string)
        if not tokens and (not string and writer.bos_id is not None):
            tokens = [writer.bos_id]
        if not tokens:
            raise Usage(f"--prompt {string!r} has no tokens, and this model has no token to begin a text with")
        if max(tokens) >= writer.vocab_size:
            raise Usage(f"the tokenizer gives token {max(tokens)}, but the model has only {writer.vocab_size} tokens")
        if writer.max_length is not None and len(tokens) >= writer.max_length:
            raise Usage(f"--prompt has {len(tokens)} tokens, but the model has only {writer.max_length} positions")
        prompts.append(tokens)
    return pad_left(prompts, like=writer.like)


def run(folder, prompts, *, method, given, max_new_tokens, stop_strings, rules, use_cache, dtype, backend_name, out):
    """Write, and show what is written.

    Parameters
    ----------
    folder : pathlib.Path
        Where the model lies.
    prompts : list of str
        The prompts.
    method : str
        Of `refimpl.commands.options.OF_METHOD`.
    given : dict of (str, object)
        The options of all methods, None where one was not given.
    max_new_tokens : int
        The most tokens that are written.
    stop_strings : list of str
        Strings that end a text.
    rules : dict of (str, object)
        Of `Constraints`; bad words are strings.
    use_cache : bool
        Whether keys and values are remembered.
    dtype : str or None
        What is computed in.
    backend_name : str
        Where it is computed.
    out : file
        Where the texts go.

    Returns
    -------
    int
        How many tokens were written.
    """
    settings = chosen(method, given)
    loaded = {"dtype": dtype, "backend_name": backend_name, "use_cache": use_cache}
    writer = load_writer(folder, **loaded)
    token_ids, mask = prompts_of(writer, prompts)
    stop = Stop(max_new_tokens, writer.max_length, writer.eos_ids, tuple(stop_strings), writer.tokenizer.decode)
    words = tuple(_encoded(writer, "bad_word", word) for word in rules.pop("bad_words", ()))
    common = {"stop": stop, "constraints": Constraints(bad_words=words, **rules)}
    if method in ("beam", "diverse"):
        return _beams(writer, token_ids, mask, settings, common, prompts, out)
    texts = _texts(method, writer, token_ids, mask, settings, common, loaded)
    if token_ids.shape[0] == 1:
        return _stream(texts, writer, prompts, out)
    return _show_all(texts, writer, prompts, out)


def _encoded(writer, name, string):
    try:
        string.encode("utf-8")
    except UnicodeEncodeError:  # bytes of the terminal that are no characters
        raise Usage(f"{flag(name)} must be text in UTF-8, got {string!a}") from None
    return tuple(writer.tokenizer.encode(string).ids)


def _texts(method, writer, token_ids, mask, settings, common, loaded):
    if method == "greedy":
        return greedy(writer.model, token_ids, mask=mask, **common)
    if method == "contrastive":
        each = {"k": settings["candidates"], "alpha": settings["alpha"]}
        return contrastive(writer.with_states, token_ids, mask=mask, **each, **common)
    filters = Filters(*(settings[name] for name in ("temperature", "top_k", "top_p", "min_p")))
    numbers = np.random.default_rng(settings["seed"])
    if method == "sample":
        return sample(writer.model, token_ids, numbers, mask=mask, filters=filters, **common)
    draft = load_writer(settings["draft"], **loaded)
    if draft.vocab_size != writer.vocab_size:
        sizes = f"{writer.vocab_size} and {draft.vocab_size}"
        raise Usage(f"--draft must have the vocabulary of the model, got {sizes} tokens")
    if token_ids.shape[0] > 1:
        raise Usage("--method speculative takes one --prompt")
    lengths = [length for length in (writer.max_length, draft.max_length) if length is not None]
    common = {**common, "stop": replace(common["stop"], max_length=min(lengths, default=None))}
    return speculative(writer.model, draft.model, token_ids, numbers, n_draft=settings["draft_tokens"],
                       filters=filters, **common)  # fmt: skip


def _beams(writer, token_ids, mask, settings, common, prompts, out):
    from tqdm import tqdm

    groups = {"n_group": settings.get("groups", 1), "diversity_penalty": settings.get("diversity_penalty", 0.0)}
    n_step = common["stop"].n_new(token_ids.shape[1])
    with tqdm(total=n_step, unit="token", disable=None, leave=False) as bar:
        def step(*args):
            bar.update()
            return writer.model.step(*args)

        found = beam_search(
            replace(writer.model, step=step), token_ids, mask=mask, n_beam=settings["beams"],
            length_penalty=settings["length_penalty"], early_stopping=EARLY[settings["early_stopping"]],
            n_return=settings["returned"], **groups, **common,
        )  # fmt: skip
    n_token = 0
    for prompt, texts, scores in zip(prompts or [""], found.tokens, found.scores, strict=True):
        for tokens, score in zip(texts, scores, strict=True):
            print(f"[{score:.4f}] {prompt}{writer.tokenizer.decode(tokens)}", file=out)
            n_token += len(tokens)
    return n_token


def _stream(texts, writer, prompts, out):
    kept = []
    print("".join(prompts), end="", file=out, flush=True)
    for piece in pieces(_remembered(texts, kept), writer.tokenizer.decode):
        print(piece, end="", file=out, flush=True)
    print(file=out)
    return kept[-1].n_new


def _show_all(texts, writer, prompts, out):
    from tqdm import tqdm

    for text in tqdm(texts, unit="token", disable=None, leave=False):
        done = text
    written = done.written()
    for prompt, tokens in zip(prompts, written, strict=True):
        print(f"{prompt}{writer.tokenizer.decode(tokens)}\n", file=out)
    return sum(map(len, written))


def _remembered(texts, kept):
    for text in texts:
        kept[:] = [text]
        yield text


def timed(function, *args, **settings):
    """Call a function, and tell the tokens it wrote per second on the standard error.

    Parameters
    ----------
    function : callable
        Returns a number of tokens.
    *args, **settings
        Handed to it.
    """
    start = time.perf_counter()
    n_token = function(*args, **settings)
    seconds = time.perf_counter() - start
    print(f"{n_token} tokens in {seconds:.1f} s, {n_token / seconds:.1f} a second", file=sys.stderr)
