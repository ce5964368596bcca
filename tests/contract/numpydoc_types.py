"""What a docstring says about arguments: the only place where Python code tells arrays from settings."""

import ast

from numpydoc.docscrape import NumpyDocString

# For arguments that a docstring only refers to ("as for ...").
ARRAYS_BY_CUSTOM = {
    "x", "q", "k", "v", "params", "mask", "bias", "keep", "ids", "token_ids", "segment_ids", "targets", "logits",
}
CONSTANTS_BY_CUSTOM = {"mask", "keep", "ids", "token_ids", "segment_ids", "targets"}
ARRAY_TYPES = ("array", "dict of array", "tuple of array", "list of array")
CONSTANT_TYPES = ("array of int", "array of bool")


def sections(function):
    """The parsed docstring, empty where there is none."""
    return NumpyDocString(ast.get_docstring(function) or "\n")


def types(function):
    """The documented type of every argument that has one."""
    return {
        name.strip().lstrip("*"): entry.type
        for entry in sections(function)["Parameters"]
        for name in entry.name.split(",")
        if entry.type
    }


def is_array(name, documented):
    """Say whether an argument holds arrays: an array itself, or a dict or tuple of them."""
    return documented[name].startswith(ARRAY_TYPES) if name in documented else name in ARRAYS_BY_CUSTOM


def is_differentiable(name, documented):
    """Say whether an argument has a gradient: integers and booleans have none."""
    if name in documented:
        return is_array(name, documented) and not documented[name].startswith(CONSTANT_TYPES)
    return name in ARRAYS_BY_CUSTOM - CONSTANTS_BY_CUSTOM


def mentions_pullback(function):
    returns = sections(function)["Returns"]
    return any("pullback" in " ".join([entry.name, entry.type, *entry.desc]) for entry in returns)
