"""Checks that refuse bad input by naming the argument, what was expected, and what came."""

from refimpl.arrays.namespace import array_namespace


def check_shape(name, array, expected):
    """Require a shape.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    array : array
        The array to look at.
    expected : tuple of (int or None)
        The shape; None stands for any length.

    Raises
    ------
    TypeError
        If it is no array; so do all checks below.
    ValueError
        If the shape differs.
    """
    _check_array(name, array)
    expected = tuple(expected)
    fits = len(array.shape) == len(expected) and all(
        want is None or want == got for want, got in zip(expected, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} must have shape {_shape_text(expected)}, got {_shape_text(array.shape)}")


def check_rank(name, array, at_least):
    """Require a number of axes.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    array : array
        The array to look at.
    at_least : int
        The smallest number of axes allowed.

    Raises
    ------
    ValueError
        If there are fewer axes.
    """
    _check_array(name, array)
    if array.ndim < at_least:
        raise ValueError(f"{name} must have at least {at_least} axes, got shape {_shape_text(array.shape)}")


def check_floating(**arrays):
    """Require floating (or, for complex step, complex) arrays that all have the same dtype.

    Parameters
    ----------
    **arrays : array, dict of array or None
        The arrays by argument name; `params` may be a dict, whose entries are checked under ``params[key]``.

    Raises
    ------
    TypeError
        If an array is not floating, or two dtypes differ: no component silently promotes.
    """
    first = None
    for name, array in _named(arrays):
        # ml_dtypes.bfloat16 has kind "V", so the kind alone does not tell.
        if array.dtype.kind in "biu":
            raise TypeError(f"{name} must be a floating array, got dtype {array.dtype}")
        if first is None:
            first = (name, array.dtype)
        elif array.dtype != first[1]:
            raise TypeError(f"{name} must have the dtype of {first[0]}, {first[1]}, got {array.dtype}")


def check_boolean(**masks):
    """Require boolean masks.

    Parameters
    ----------
    **masks : array or None
        The masks by argument name.

    Raises
    ------
    TypeError
        If a mask is not boolean: a float mask is added to scores, never read as a boolean.
    """
    for name, mask in _named(masks):
        if mask.dtype.kind != "b":
            got = f"got dtype {mask.dtype}"
            raise TypeError(f"{name} must be a boolean array (True attends, or keeps), {got}")


def check_ids(name, ids, n):
    """Require integer ids in [0, n).

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    ids : array of int, shape (...)
        The ids.
    n : int
        The number of rows they may point to.

    Raises
    ------
    TypeError
        If the ids are not integers.
    ValueError
        If an id is out of range; libraries disagree here (NumPy wraps negative ids, CuPy wraps all).
    """
    check_integers(name, ids)
    if 0 in ids.shape:
        return
    xp = array_namespace(ids)
    lowest, highest = int(xp.min(ids)), int(xp.max(ids))
    if lowest < 0 or highest >= n:
        raise ValueError(f"{name} must lie in [0, {n}), got values from {lowest} to {highest}")


def check_integers(name, ids):
    """Require integers that NumPy may add to its own: uint64 would become float64.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    ids : array of int, shape (...)
        The ids.

    Raises
    ------
    TypeError
        If they are no such integers.
    """
    _check_array(name, ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an integer array, got dtype {ids.dtype}")
    if str(ids.dtype) == "uint64":
        raise TypeError(f"{name} must be an integer array that int64 can hold, got dtype {ids.dtype}")


def check_tokens(name, ids, n, **masks):
    """Require tokens, and masks that say which of them are no padding.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    ids : array of int, shape (n_batch, n_seq)
        The tokens.
    n : int
        The number of tokens that there are.
    **masks : array of bool, shape (n_batch, n_seq), or None
        By the argument's name.

    Raises
    ------
    ValueError
        If a shape does not fit, or an id is out of range.
    TypeError
        If the ids are not integers, or a mask not boolean.
    """
    check_shape(name, ids, (None, None))
    check_ids(name, ids, n)
    check_boolean(**masks)
    for mask_name, mask in masks.items():
        if mask is not None:
            check_shape(mask_name, mask, ids.shape)


def check_broadcastable(name, array, shape):
    """Require that an array broadcasts to a shape without enlarging it.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    array : array
        The array to look at.
    shape : tuple of int
        The shape to broadcast to.

    Raises
    ------
    ValueError
        If it does not.
    """
    _check_array(name, array)
    got = array.shape
    aligned = zip(reversed(got), reversed(shape), strict=False)
    if len(got) > len(shape) or any(size not in (1, want) for size, want in aligned):
        raise ValueError(f"{name} must broadcast to {_shape_text(shape)}, got {_shape_text(got)}")


def check_gradient(dy, shape, dtype, name="dy"):
    """Require that the gradient which a pullback is given is that of what its component returned.

    Parameters
    ----------
    dy : array, shape `shape`
        The gradient.
    shape : tuple of int
        The shape of what was returned.
    dtype : dtype
        Its dtype.
    name : str, optional
        What the gradient is called, for the message.

    Raises
    ------
    ValueError
        If the shape differs: broadcast, it would be the gradient of something else.
    TypeError
        If it is no array, or the dtype differs; a real one may meet a complex one, for derivatives by complex step.
    """
    check_shape(name, dy, shape)
    array_namespace(dy)
    kinds = {dy.dtype.kind, dtype.kind}
    if dy.dtype != dtype and ("c" not in kinds or kinds & {*"biu"}):
        raise TypeError(f"{name} must have dtype {dtype}, got {dy.dtype}")


def check_gradients(dy, returned, *, none=()):
    """Require a gradient of each of the arrays that a component returned.

    Parameters
    ----------
    dy : tuple of (array or None)
        The gradients.
    returned : sequence of array
        The arrays, or others of their shapes and dtypes.
    none : container of int, optional
        The places where None may stand for 0.

    Raises
    ------
    ValueError
        If there are fewer or more, or one has another shape.
    TypeError
        If they are no tuple, or one is no such array.
    """
    if not isinstance(dy, tuple | list):
        raise TypeError(f"dy must be a tuple of {len(returned)} gradients, got {type(dy).__name__}")
    if len(dy) != len(returned):
        raise ValueError(f"dy must be a tuple of {len(returned)} gradients, got {len(dy)}")
    for i, (dpart, part) in enumerate(zip(dy, returned, strict=True)):
        if not (dpart is None and i in none):
            check_gradient(dpart, part.shape, part.dtype, f"dy[{i}]")


def check_params(params, required, optional=()):
    """Require exactly the keys a component knows.

    Parameters
    ----------
    params : dict of array
        Flat parameters.
    required : iterable of str
        The keys that must be there.
    optional : iterable of str, optional
        The keys that may be there (an absent bias is an absent key).

    Raises
    ------
    TypeError
        If `params` is no dict.
    ValueError
        If a key is missing or unknown; an unknown key would be a parameter without a gradient.
    """
    _check_dict(params)
    required, optional = set(required), set(optional)
    missing = sorted(required - params.keys())
    unknown = sorted(params.keys() - required - optional)
    if missing or unknown:
        known = sorted(required) + [f"{key} (optional)" for key in sorted(optional)]
        got = ", ".join(sorted(params)) or "none"
        raise ValueError(f"params must have the keys {', '.join(known)}, got {got}")


def check_shapes(params, shapes):
    """Require exactly the parameters that a configuration describes.

    Parameters
    ----------
    params : dict of array
        Flat parameters.
    shapes : dict of (str, tuple of int)
        The shape of each, by key.

    Raises
    ------
    TypeError
        If `params` is no dict, or an entry no array.
    ValueError
        If a key is missing or unknown, or a shape differs: rows too many would go unused, an axis of 1 be broadcast.
    """
    check_params(params, shapes)
    for key, shape in shapes.items():
        check_shape(key, params[key], shape)


def check_scopes(params, prefixes):
    """Require that every key lies below a prefix; what comes after it, each part checks by itself.

    Parameters
    ----------
    params : dict of array
        Flat parameters.
    prefixes : sequence of str
        Such as ``("embeddings.", "encoder.")``; what does not end in a dot is a whole key.

    Raises
    ------
    TypeError
        If `params` is no dict.
    ValueError
        If a key lies elsewhere; it would be a parameter without a gradient.
    """
    _check_dict(params)
    whole, below = ({p for p in prefixes if p.endswith(".") == is_prefix} for is_prefix in (False, True))
    strangers = sorted(key for key in params if key not in whole and not key.startswith(tuple(below)))
    if strangers:
        raise ValueError(f"params must have keys below {', '.join(prefixes)} only, got {', '.join(strangers)}")


def check_setting(name, value, fits, expected):
    """Require a setting to be sensible.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.
    fits : bool
        Whether it is right.
    expected : str
        What would have been right, such as ``"in [0, 1)"``.

    Raises
    ------
    ValueError
        If it does not fit.
    """
    if not fits:
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def _check_dict(params):
    if not isinstance(params, dict):
        raise TypeError(f"params must be a dict of arrays, got {type(params).__name__}")
    for key in params:
        if not isinstance(key, str):
            raise TypeError(f"params must have names as keys, got {key!r}")


def _named(arrays):
    for name, value in arrays.items():
        is_params = name == "params" and isinstance(value, dict)  # a dict elsewhere is no array
        parts = {f"{name}[{key!r}]": item for key, item in value.items()} if is_params else {name: value}
        for part_name, part in parts.items():
            if is_params or part is not None:
                _check_array(part_name, part)
                yield part_name, part


def _check_array(name, array):
    # A list of arrays has an array namespace, but is none.
    if not hasattr(array, "dtype"):
        raise TypeError(f"{name} must be an array, got {type(array).__name__}")


def _shape_text(shape):
    sizes = ["any" if size is None else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
