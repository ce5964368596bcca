"""Parameters are a flat dict of arrays with the keys of a `torch.nn` state_dict; these are its five verbs."""


def scope(params, prefix):
    """Select the parameters below a prefix and strip it.

    Parameters
    ----------
    params : dict of array
        Flat parameters, such as ``{"norm1.weight": ...}``.
    prefix : str
        Such as ``"norm1."``.

    Returns
    -------
    dict of array
        Such as ``{"weight": ...}``; empty where nothing lies below the prefix.
    """
    return {key[len(prefix) :]: value for key, value in params.items() if key.startswith(prefix)}


def add_prefix(prefix, params):
    """Put a prefix before every key: the inverse of `scope`.

    Parameters
    ----------
    prefix : str
        Such as ``"norm1."``.
    params : dict of array
        Parameters or their gradients.

    Returns
    -------
    dict of array
        The same arrays under longer keys.
    """
    return {prefix + key: value for key, value in params.items()}


def pick(params, *keys):
    """Select parameters by key, passing over keys that are absent.

    Parameters
    ----------
    params : dict of array
        Flat parameters.
    *keys : str
        The keys to keep.

    Returns
    -------
    dict of array
        The parameters that are there, in the order of `keys`.
    """
    return {key: params[key] for key in keys if key in params}


def keyed_as(dparams, params):
    """Hand gradients back under the keys of the parameters that came in, in their order.

    Parameters
    ----------
    dparams : dict of array
        Gradients of at least these parameters; what was absent, such as a bias, may have one that nobody asked for.
    params : dict of array
        The parameters.

    Returns
    -------
    dict of array
        A gradient for every parameter.  One that is missing is a KeyError: a component has lost it.
    """
    return {key: dparams[key] for key in params}


def merge(*parts):
    """Join gradients of disjoint parameters into one dict.

    Parameters
    ----------
    *parts : dict of array
        Parameters or gradients with no key in common.

    Returns
    -------
    dict of array
        All of them.

    Raises
    ------
    ValueError
        If two parts hold the same key: gradients of shared parameters must be added, not overwritten.
    """
    merged = {}
    for part in parts:
        twice = merged.keys() & part.keys()
        if twice:
            raise ValueError(f"expected every key in one part only, got twice: {', '.join(sorted(twice))}")
        merged.update(part)
    return merged
