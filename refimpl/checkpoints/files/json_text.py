"""JSON from a stranger: strict UTF-8, shallow, no name twice, no NaN."""

import json
import math
import re
from collections import Counter

import numpy as np

from refimpl.checkpoints.errors import refusal, shown

MOST_DIGITS = 20  # of an integer, enough for every 64-bit one
# A missing closing quote ends the string at the end of the text; the possessive quantifiers and this end
# make the pattern linear in the length of hostile text.
STRING = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)', re.DOTALL)


def parse_json(data, *, path, max_depth):
    """Parse JSON that nobody vouches for.

    Parameters
    ----------
    data : bytes
        The text.  Its length is capped by the caller, who knows it before reading.
    path : str or os.PathLike
        Where the text came from, for the message.
    max_depth : int
        Deepest nesting of lists and objects.

    Returns
    -------
    object
        What `json.loads` gives.

    Raises
    ------
    CheckpointError
        If the text is not strict JSON: not UTF-8, too deep, a name twice in one object, NaN, Infinity, a
        number too large for a float or an integer of over 20 digits, or a syntax error.
    """
    depth = _depth(data)
    if depth > max_depth:
        raise refusal(path, f"JSON nested at most {max_depth} deep", f"{depth} levels")

    def no_duplicates(pairs):
        parsed = dict(pairs)
        if len(parsed) < len(pairs):
            [(name, times)] = Counter(name for name, _ in pairs).most_common(1)
            raise refusal(path, "every JSON name once", f"{shown(name)} {times} times")
        return parsed

    def finite(text):
        number = float(text)
        if not math.isfinite(number):
            raise refusal(path, "finite JSON numbers", shown(text))
        return number

    def short(text):
        n_digits = len(text.removeprefix("-"))
        if n_digits > MOST_DIGITS:
            raise refusal(path, f"JSON integers of at most {MOST_DIGITS} digits", f"{n_digits}")
        return int(text)

    try:
        text = data.decode("utf-8")
        numbers = {"parse_int": short, "parse_float": finite, "parse_constant": finite}
        return json.loads(text, object_pairs_hook=no_duplicates, **numbers)
    except UnicodeDecodeError as error:
        raise refusal(path, "JSON in UTF-8", f"byte {error.start} that is not") from error
    except json.JSONDecodeError as error:
        raise refusal(path, "JSON", f"a syntax error at character {error.pos}: {error.msg}") from error


def _depth(data):
    """Count the deepest nesting without nesting: a recursive parser is what deep text would break."""
    code = np.frombuffer(STRING.sub(b"", data), np.uint8)
    opens = np.isin(code, list(b"[{")).astype(np.int32)
    closes = np.isin(code, list(b"]}")).astype(np.int32)
    return int(np.cumsum(opens - closes).max(initial=0))
