"""Which options go with which method; an option that would change nothing is refused."""

from refimpl.checkpoints.errors import CheckpointError

SAMPLING = ("temperature", "top_k", "top_p", "min_p", "seed")
BEAMS = ("beams", "length_penalty", "early_stopping", "returned")
OF_METHOD = {
    "greedy": (),
    "sample": SAMPLING,
    "beam": BEAMS,
    "diverse": (*BEAMS, "groups", "diversity_penalty"),
    "contrastive": ("candidates", "alpha"),
    "speculative": (*SAMPLING, "draft", "draft_tokens"),
}
DEFAULTS = {
    "seed": 0, "temperature": 1.0, "beams": 4, "length_penalty": 1.0, "early_stopping": "false", "returned": 1,
    "groups": 2, "diversity_penalty": 1.0, "candidates": 4, "alpha": 0.6, "draft_tokens": 4,
}  # fmt: skip
EARLY = {"true": True, "false": False, "never": "never"}
NAMES = {"returned": "return"}


class Usage(CheckpointError):
    """What was asked for cannot be done, and why."""


def chosen(method, given):
    """Check the options of a method, and fill in what was not given.

    Parameters
    ----------
    method : str
        A key of `OF_METHOD`.
    given : dict of (str, object)
        The options of all methods; None where one was not given.

    Returns
    -------
    dict of (str, object)
        Those of this method.

    Raises
    ------
    Usage
        If an option of another method was given, or one that is needed was not.
    """
    own = OF_METHOD[method]
    for name, value in given.items():
        if value is not None and name not in own:
            users = [other for other, options in OF_METHOD.items() if name in options]
            raise Usage(f"{flag(name)} is for --method {' or '.join(users)}, got --method {method}")
    if "draft" in own and given.get("draft") is None:
        raise Usage("--method speculative needs --draft, the folder of a smaller model with the same tokens")
    return {name: DEFAULTS.get(name) if given.get(name) is None else given[name] for name in own}


def flag(name):
    """Write an option as it is typed.

    Parameters
    ----------
    name : str
        Its name in Python.

    Returns
    -------
    str
        Such as ``"--top-k"``.
    """
    return "--" + NAMES.get(name, name).replace("_", "-")
