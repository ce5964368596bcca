"""Write texts with any method, and show them as they are written."""

import os
import sys
import time
from dataclasses import replace

import numpy as np

from refimpl.commands.options import EARLY, Usage, chosen, flag, method_for
from refimpl.commands.told import BEAM_SAMPLING, rules_of, stop_of, told_method, told_options
from refimpl.commands.writer import load_writer
from refimpl.generation import Filters, beam_search, contrastive, greedy, pieces, sample, speculative


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
    list of (list of int)
        Their tokens.

    Raises
    ------
    Usage
        If there is nothing to begin with, or a prompt is too long for the model.
    """
    prompts, has_encoder = [], writer.reading.start is not None
    for string in strings or [""]:
        tokens = writer.encoded(_text(string, "prompt"))
        if not tokens and (not string and writer.bos_id is not None and not has_encoder):
            tokens = [writer.bos_id]
        if not tokens:
            raise Usage(f"--prompt {string!r} has no tokens, and this model has no token to begin a text with")
        longest = writer.max_length
        if longest is not None and len(tokens) > longest - (not has_encoder):
            raise Usage(f"--prompt has {len(tokens)} tokens, but the model has only {longest} positions")
        prompts.append(tokens)
    return prompts


def run(folder, prompts, *, method, given, max_new_tokens, stop_strings, rules, use_cache, dtype, backend_name, out):
    """Write, and show what is written.

    Parameters
    ----------
    folder : pathlib.Path
        Where the model lies.
    prompts : list of str
        The prompts: what is gone on from or, with an encoder, what is read.
    method : str or None
        Of `refimpl.commands.options.OF_METHOD`; by default what the options or the folder ask for.
    given : dict of (str, object)
        The options of all methods, None where one was not given.
    max_new_tokens : int or None
        The most tokens that are written; by default what the folder says.
    stop_strings : list of str
        Strings that end a text.
    rules : dict of (str, object)
        As for `rules_of`, None where one was not given; and the strings of ``bad_words``.
    use_cache : bool
        Whether keys and values are remembered.
    dtype : str or None
        What is computed in.
    backend_name : str
        Where it is computed.
    out : file
        Where the texts go, and nothing else.

    Returns
    -------
    int
        How many tokens were written.
    """
    loaded = {"dtype": dtype, "backend_name": backend_name, "use_cache": use_cache}
    if method is not None:
        chosen(method, given, {})  # complains before anything is read
    writer = load_writer(folder, **loaded)
    method, settings = _asked(writer, method, given)
    begun = prompts_of(writer, prompts)
    n_prompt = 1 if writer.reading.start is not None else max(map(len, begun))
    strings = [_text(string, "stop") for string in stop_strings]
    words = [tuple(writer.encoded(_text(word, "bad_word"), whole=False)) for word in rules.get("bad_words", ())]
    own_rules = {name: value for name, value in rules.items() if name != "bad_words"}
    common = {
        "stop": stop_of(writer, n_prompt, max_new_tokens=max_new_tokens, strings=strings),
        "constraints": rules_of(writer, n_prompt, own_rules, words, has_beams=method in ("beam", "diverse")),
    }
    # What an encoder reads is not said again.
    shown = [""] * len(begun) if writer.reading.start is not None else [_text(x, "prompt") for x in prompts or [""]]
    if method in ("beam", "diverse"):
        return _beams(writer, begun, settings, common, shown, out)
    n_each = settings.get("returned", 1)
    begun, shown = ([x for x in each for _ in range(n_each)] for each in (begun, shown))
    texts = _texts(method, writer, begun, settings, common, loaded)
    if len(begun) == 1:
        return _stream(texts, writer, shown[0], out)
    return _show_all(texts, writer, shown, out)


def _asked(writer, method, given):
    said, path = writer.generation.said, writer.generation.path
    method = method_for(method, given, told_method(said))
    if method == BEAM_SAMPLING:
        raise Usage(f"{path}: do_sample with num_beams = {said['num_beams']} is {BEAM_SAMPLING}, which refimpl does "
                    "not do; --method sample or --method beam does one of the two")  # fmt: skip
    writer.generation.check(samples=method in ("sample", "speculative"))
    if not writer.reading.remembers_all and method in ("contrastive", "speculative"):
        raise Usage(f"--method {method} is not for a model whose memory forgets, such as a Transformer-XL")
    return method, chosen(method, given, told_options(said))


def _text(argument, name):
    """Read the bytes of an argument as UTF-8, whatever the locale has made of them."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        pass
    try:
        argument.encode("utf-8")
    except UnicodeEncodeError:  # bytes of the terminal that are no characters
        raise Usage(f"{flag(name)} must be text in UTF-8, got {argument!a}") from None
    return argument


def _texts(method, writer, prompts, settings, common, loaded):
    model, token_ids, mask = writer.begin(prompts, with_states=method == "contrastive")
    if method == "greedy":
        return greedy(model, token_ids, mask=mask, **common)
    if method == "contrastive":
        return contrastive(model, token_ids, mask=mask, k=settings["candidates"], alpha=settings["alpha"], **common)
    filters = Filters(settings["temperature"], settings["top_k"] or None, settings["top_p"], settings["min_p"])
    numbers = np.random.default_rng(settings["seed"])
    if method == "sample":
        return sample(model, token_ids, numbers, mask=mask, filters=filters, **common)
    draft = load_writer(settings["draft"], **loaded)
    if draft.vocab_size != writer.vocab_size:
        sizes = f"{writer.vocab_size} and {draft.vocab_size}"
        raise Usage(f"--draft must have the vocabulary of the model, got {sizes} tokens")
    if not draft.reading.remembers_all or (draft.reading.start is None) != (writer.reading.start is None):
        raise Usage("--draft must read as the model does: both with an encoder, or both without, and no memory")
    if len(prompts) > 1:
        raise Usage("--method speculative takes one --prompt")
    lengths = [length for length in (common["stop"].max_length, draft.max_length) if length is not None]
    common = {**common, "stop": replace(common["stop"], max_length=min(lengths, default=None))}
    guesser, _, _ = draft.begin(prompts)
    return speculative(model, guesser, token_ids, numbers, n_draft=settings["draft_tokens"], filters=filters, **common)


def _beams(writer, prompts, settings, common, shown, out):
    from tqdm import tqdm

    groups = {"n_group": settings.get("groups", 1), "diversity_penalty": settings.get("diversity_penalty", 0.0)}
    model, token_ids, mask = writer.begin(prompts)
    n_step = common["stop"].n_new(token_ids.shape[1])
    with tqdm(total=n_step, unit="token", disable=None, leave=False) as bar:
        def step(*args):
            bar.update()
            return model.step(*args)

        found = beam_search(
            replace(model, step=step), token_ids, mask=mask, n_beam=settings["beams"],
            length_penalty=settings["length_penalty"], early_stopping=EARLY[settings["early_stopping"]],
            n_return=settings["returned"], **groups, **common,
        )  # fmt: skip
    n_token = 0
    for prompt, texts in zip(shown, found.tokens, strict=True):
        for tokens in texts:
            print(f"{prompt}{writer.tokenizer.decode(tokens)}", file=out)
            n_token += len(tokens)
    scores = ", ".join(f"{score:.4f}" for of_prompt in found.scores for score in of_prompt)
    print(f"scores: {scores}", file=sys.stderr)
    return n_token


def _stream(texts, writer, prompt, out):
    kept = []
    print(prompt, end="", file=out, flush=True)
    for piece in pieces(_remembered(texts, kept), writer.tokenizer.decode):
        print(piece, end="", file=out, flush=True)
    print(file=out)
    return kept[-1].n_new


def _show_all(texts, writer, shown, out):
    from tqdm import tqdm

    for text in tqdm(texts, unit="token", disable=None, leave=False):
        done = text
    written = done.written()
    for prompt, tokens in zip(shown, written, strict=True):
        print(f"{prompt}{writer.tokenizer.decode(tokens)}", file=out)
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
