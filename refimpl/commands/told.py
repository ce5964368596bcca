"""What a folder says about generation, in the words of the command: its method, its options, its rules."""

from refimpl.checkpoints.generation_settings import as_tokens
from refimpl.generation import Constraints, Stop
from refimpl.layers.softmax import log_softmax

MOST_NEW = 100  # where neither the command nor the folder says how long a text may get
# Our options, and what `transformers` calls them.
OPTIONS = {
    "temperature": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "beams": "num_beams",
    "length_penalty": "length_penalty", "early_stopping": "early_stopping", "returned": "num_return_sequences",
    "groups": "num_beam_groups", "diversity_penalty": "diversity_penalty", "alpha": "penalty_alpha",
}  # fmt: skip
BEAM_SAMPLING = "beam sampling"


def told_method(said):
    """Say which method a folder asks for.

    Parameters
    ----------
    said : dict of (str, object)
        Settings in the names of `transformers`.

    Returns
    -------
    str
        A key of `refimpl.commands.options.OF_METHOD`, or ``"beam sampling"``, which is not here.
    """
    has_beams, samples = said.get("num_beams", 1) > 1, said.get("do_sample", False)
    if has_beams and said.get("num_beam_groups", 1) > 1:
        return "diverse"
    if has_beams:
        return BEAM_SAMPLING if samples else "beam"
    if samples:
        return "sample"
    return "contrastive" if said.get("penalty_alpha", 0.0) > 0.0 and said.get("top_k", 50) > 1 else "greedy"


def told_options(said):
    """Say which options a folder sets.

    Parameters
    ----------
    said : dict of (str, object)
        Settings in the names of `transformers`.

    Returns
    -------
    dict of (str, object)
        Values by the names of our options.
    """
    options = {ours: said[theirs] for ours, theirs in OPTIONS.items() if theirs in said}
    if "early_stopping" in options:
        options["early_stopping"] = str(options["early_stopping"]).lower()
    for name in ("beams", "groups"):  # one is none: a beam search that is asked for has more
        if options.get(name) == 1:
            del options[name]
    if "alpha" in options and "top_k" in options:
        options["candidates"] = options["top_k"]
    return options


def stop_of(writer, n_prompt, *, max_new_tokens, strings):
    """Say when texts end.

    Parameters
    ----------
    writer : Writer
        The model, and what its folder says.
    n_prompt : int
        Length of the prompts, padding included.
    max_new_tokens : int or None
        The most tokens that are written; by default what the folder says, or 100.
    strings : sequence of str
        Strings that end a text, beside those that the folder names.

    Returns
    -------
    Stop
        When.
    """
    said, told_length = writer.generation.said, None
    if max_new_tokens is None and "max_new_tokens" not in said:
        told_length = said.get("max_length")
    lengths = [length for length in (writer.max_length, told_length) if length is not None]
    longest = min(lengths, default=None)
    room = MOST_NEW if longest is None or told_length is None else max(1, longest - n_prompt)
    eos_ids, named = _there(as_tokens(said.get("eos_token_id")), writer), said.get("stop_strings", [])
    all_strings = (*strings, *([named] if isinstance(named, str) else named))
    n_new = max_new_tokens or said.get("max_new_tokens", room)
    return Stop(n_new, longest, eos_ids, all_strings, writer.tokenizer.decode)


def rules_of(writer, n_prompt, given, bad_words, *, has_beams):
    """Say what may come next.

    Parameters
    ----------
    writer : Writer
        The model, and what its folder says.
    n_prompt : int
        Length of the prompts, padding included.
    given : dict of (str, object)
        ``repetition_penalty``, ``no_repeat_ngram``, ``min_new_tokens``; None for what the folder says.
    bad_words : sequence of (sequence of int)
        What may not come, beside what the folder names.
    has_beams : bool
        Whether scores are summed, so that it matters whether they are normalised again.

    Returns
    -------
    Constraints
        The rules.

    Notes
    -----
    As in `transformers`: ``min_length`` counts the prompt, a token is forced to come first only after a single one,
    and a bad word that ends a text is passed over.
    """
    said = writer.generation.said
    least = said.get("min_new_tokens", max(0, said.get("min_length", 0) - n_prompt))
    eos_ids = as_tokens(said.get("eos_token_id"))
    named = [word for word in said.get("bad_words_ids", []) if not (len(word) == 1 and word[0] in eos_ids)]
    last = _there(as_tokens(said.get("forced_eos_token_id")), writer)
    values = {
        "repetition_penalty": said.get("repetition_penalty", 1.0),
        "no_repeat_ngram": said.get("no_repeat_ngram_size", 0), "min_new_tokens": least,
        **{name: value for name, value in given.items() if value is not None},
    }  # fmt: skip
    return Constraints(
        **values,
        bad_words=(*bad_words, *(tuple(word) for word in named if len(_there(word, writer)) == len(word))),
        forced_first=said.get("forced_bos_token_id") if n_prompt == 1 else None,
        forced_last=last or None,
        suppressed=_there(as_tokens(said.get("suppress_tokens")), writer),
        suppressed_first=_there(as_tokens(said.get("begin_suppress_tokens")), writer),
        more=(normalised,) if has_beams and said.get("renormalize_logits") else (),
    )


def normalised(scores, text):
    """Make scores logarithms of probabilities again, after some tokens were forbidden.

    Parameters
    ----------
    scores : array, shape (n_batch, vocab_size)
        The scores.
    text : Text
        What was written, which does not matter.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        Scores whose exponentials sum to 1.
    """
    return log_softmax(scores)[0]


def _there(tokens, writer):
    """Pass over tokens that the model does not have: they never come anyway."""
    return tuple(token for token in tokens if 0 <= token < writer.vocab_size)
