"""Which options go with which method; an option that would change nothing is refused."""

from refimpl.checkpoints.errors import CheckpointError

SAMPLING = ("temperature", "top_k", "top_p", "min_p", "seed")
BEAMS = ("beams", "length_penalty", "early_stopping", "returned")
OF_METHOD = {
    "greedy": (),
    "sample": (*SAMPLING, "returned"),
    "beam": BEAMS,
    "diverse": (*BEAMS, "groups", "diversity_penalty"),
    "contrastive": ("candidates", "alpha"),
    "speculative": (*SAMPLING, "draft", "draft_tokens"),
}
# Where neither the command nor the folder says anything; those that `transformers` has too are the same there.
DEFAULTS = {
    "seed": 0, "temperature": 1.0, "top_k": 50, "beams": 4, "length_penalty": 1.0, "early_stopping": "false",
    "returned": 1, "groups": 2, "diversity_penalty": 1.0, "candidates": 4, "alpha": 0.6, "draft_tokens": 4,
}  # fmt: skip
EARLY = {"true": True, "false": False, "never": "never"}
NAMES = {"returned": "return"}


class Usage(CheckpointError):
    """What was asked for cannot be done, and why."""


class Interrupted(Exception):
    """Ctrl-C has come, and what was kept."""


def method_for(method, given, told):
    """Find the method that is meant.

    Parameters
    ----------
    method : str or None
        A key of `OF_METHOD`; None where none was given.
    given : dict of (str, object)
        The options of all methods; None where one was not given.
    told : str
        The method of the folder.

    Returns
    -------
    str
        The one given; or the folder's, if the options given are options of it; or the first that has them all.

    Raises
    ------
    Usage
        If no method has all of them.
    """
    if method is not None:
        return method
    names = [name for name, value in given.items() if value is not None]
    for candidate in (told, *OF_METHOD):
        if set(names) <= set(OF_METHOD.get(candidate, ())):
            return candidate
    whose = [f"{flag(name)} is for --method {_users(name)}" for name in names]
    raise Usage("; ".join([*whose, "no method has them all"]))


def chosen(method, given, told):
    """Check the options of a method, and fill in what was not given.

    Parameters
    ----------
    method : str
        A key of `OF_METHOD`.
    given : dict of (str, object)
        The options of all methods; None where one was not given.
    told : dict of (str, object)
        What the folder says.

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
            raise Usage(f"{flag(name)} is for --method {_users(name)}, got --method {method}")
    if "draft" in own and given.get("draft") is None:
        raise Usage("--method speculative needs --draft, the folder of a smaller model with the same tokens")
    return {name: given[name] if given.get(name) is not None else told.get(name, DEFAULTS.get(name)) for name in own}


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


def _users(name):
    return " or ".join(method for method, options in OF_METHOD.items() if name in options)
