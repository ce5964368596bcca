"""What a folder says about generation: generation_config.json, or config.json where that is not there."""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from refimpl.checkpoints.errors import naming, raise_faults, shown
from refimpl.checkpoints.files.config import read_config
from refimpl.checkpoints.settings_map import LARGEST_SIZE, is_integer, is_number, not_accepted

GENERATION = "generation_config.json"
FLAGS = ("do_sample", "renormalize_logits")
COUNTS = {
    "num_beams": 1, "num_beam_groups": 1, "num_return_sequences": 1, "max_length": 1, "max_new_tokens": 1,
    "min_length": 0, "min_new_tokens": 0, "no_repeat_ngram_size": 0, "top_k": 0,
}  # fmt: skip
NUMBERS = {
    "temperature": (0.0, 2.0**1000), "top_p": (0.0, 1.0), "min_p": (0.0, 1.0), "penalty_alpha": (0.0, 1.0),
    "repetition_penalty": (1e-6, 1e6), "length_penalty": (-50.0, 50.0), "diversity_penalty": (0.0, 1e6),
}  # fmt: skip
TOKEN = ("bos_token_id", "decoder_start_token_id", "forced_bos_token_id")
TOKENS = ("eos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens")
# What would change the text, and is not here; the values are those that change nothing, None stands for an absent key.
NEVER = {
    "encoder_repetition_penalty": (None, 1, 1.0), "encoder_no_repeat_ngram_size": (None, 0),
    "exponential_decay_length_penalty": (None,), "sequence_bias": (None,), "guidance_scale": (None, 1, 1.0),
    "watermarking_config": (None,), "constraints": (None,), "force_words_ids": (None,), "dola_layers": (None,),
    "token_healing": (None, False), "max_time": (None,),
}  # fmt: skip
NOT_SAMPLED = {
    "typical_p": (None, 1, 1.0), "top_h": (None,), "epsilon_cutoff": (None, 0, 0.0), "eta_cutoff": (None, 0, 0.0),
}  # fmt: skip
FAULTS = "it asks for what refimpl does not do"


@dataclass(frozen=True)
class Generation:
    """What a folder says about generation.

    Attributes
    ----------
    path : pathlib.Path
        The file that says it.
    said : dict of (str, object)
        Settings in the names of `transformers`, without null.
    """

    path: Path
    said: Any

    def check(self, *, samples):
        """Refuse what would change the text and is not here.

        Parameters
        ----------
        samples : bool
            Whether tokens are drawn: some settings have no meaning otherwise.

        Raises
        ------
        CheckpointError
            If there is such a setting; every one is named.
        """
        with naming(self.path):
            raise_faults(FAULTS, not_accepted(self.said, NEVER | (NOT_SAMPLED if samples else {})))


def read_generation(folder, settings):
    """Read what a folder says about generation, as `transformers` does.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.
    settings : dict of (str, object)
        What its config.json holds: it speaks where there is no generation_config.json, and is silent where there is.

    Returns
    -------
    Generation
        What is said; settings of speed and of the output are passed over, as are those of nobody.

    Raises
    ------
    CheckpointError
        If a setting has a value that it cannot have; every one is named.
    """
    path = Path(folder) / GENERATION
    has_own = path.exists()
    found = read_config(path) if has_own else settings
    path = path if has_own else path.with_name("config.json")
    said = {key: value for key, value in found.items() if value is not None}
    with naming(path):
        raise_faults("it does not describe a generation", _faults(said))
    return Generation(path, MappingProxyType(said))


def as_tokens(value):
    """Make a tuple of what may be one token or several.

    Parameters
    ----------
    value : int, list of int or None
        What was said.

    Returns
    -------
    tuple of int
        The tokens.
    """
    return () if value is None else tuple(value) if isinstance(value, list) else (value,)


def _faults(said):
    kinds = {
        **dict.fromkeys(FLAGS, ("true or false", lambda x: isinstance(x, bool))),
        **dict.fromkeys(TOKEN, ("a token", is_integer)),
        **dict.fromkeys(TOKENS, ("a token or a list of tokens", lambda x: is_integer(x) or _are(is_integer, x))),
        "bad_words_ids": ("lists of tokens", lambda x: _are(lambda word: word and _are(is_integer, word), x)),
        "stop_strings": ("a string or a list of strings", lambda x: _is_string(x) or _are(_is_string, x)),
        "early_stopping": ('true, false or "never"', lambda x: isinstance(x, bool) or x == "never"),
        **{name: (f"an integer of at least {least}", _at_least(least)) for name, least in COUNTS.items()},
        **{name: (f"a number from {low:g} to {high:g}", _between(low, high)) for name, (low, high) in NUMBERS.items()},
    }
    return [
        f"{name} must be {kind}, got {shown(said[name])}"
        for name, (kind, fits) in kinds.items()
        if name in said and not fits(said[name])
    ]


def _are(is_one, value):
    return isinstance(value, list) and all(map(is_one, value))


def _is_string(value):
    return isinstance(value, str) and value != ""


def _at_least(least):
    return lambda value: is_integer(value) and least <= value <= LARGEST_SIZE


def _between(low, high):
    return lambda value: is_number(value) and low <= value <= high
