"""Arguments of components are arrays and dicts of arrays; these helpers look into them."""


def map_arrays(f, tree):
    """Apply a function to every array.

    Parameters
    ----------
    f : callable
        What to apply.
    tree : array, dict, tuple, list or None
        Arrays, nested.

    Returns
    -------
    object
        The same nesting of results; None stays None.
    """
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: map_arrays(f, item) for key, item in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(map_arrays(f, item) for item in tree)
    return f(tree)


def leaves(tree):
    """List every array.

    Parameters
    ----------
    tree : array, dict, tuple, list or None
        Arrays, nested.

    Returns
    -------
    list
        The arrays, depth first.
    """
    found = []
    map_arrays(found.append, tree)
    return found


def is_differentiable(array):
    """Tell whether an argument gets a gradient.

    Parameters
    ----------
    array : array
        Any array with a NumPy-like dtype.

    Returns
    -------
    bool
        False for integers and booleans.
    """
    return array.dtype.kind not in "iub"


def named_arguments(names, args):
    """Name the differentiable arrays among the arguments, as their gradients are named in reports.

    Parameters
    ----------
    names : sequence of str
        The names of the positional arguments.
    args : tuple of (numpy.ndarray or dict)
        The positional arguments.

    Returns
    -------
    dict of (str, numpy.ndarray)
        Such as ``{"x": ..., "params.weight": ...}``.
    """
    named = {}
    for name, arg in zip(names, args, strict=False):
        if isinstance(arg, dict):
            named.update({f"{name}.{key}": item for key, item in arg.items()})
        elif arg is not None and is_differentiable(arg):
            named[name] = arg
    return named
