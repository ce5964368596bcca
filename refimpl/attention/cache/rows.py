"""What the caches have in common: counting the tokens of every row."""

from refimpl.arrays import array_namespace, check_boolean, check_floating, check_setting, check_shape


def next_positions(n_seen, n_new, *, is_token=None):
    """Say where new tokens stand: after the past, whose length is the offset.

    Parameters
    ----------
    n_seen : array of int, shape (n_batch,)
        The length of every row's past.
    n_new : int
        How many new tokens there are.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    array of int, shape (n_batch, n_new)
        Their positions; -1 for padding.

    Raises
    ------
    ValueError
        If `is_token` has another shape.
    TypeError
        If it is not boolean.
    """
    xp = array_namespace(n_seen, is_token)
    if is_token is None:
        return n_seen[:, None] + xp.arange(n_new)[None, :]
    check_boolean(is_token=is_token)
    check_shape("is_token", is_token, (n_seen.shape[0], n_new))
    ranks = xp.cumsum(is_token.astype(xp.int64), axis=1) - 1
    return xp.where(is_token, n_seen[:, None] + ranks, -1)


def check_past(past, n_layer, *, each="layer"):
    """Require what a model remembers: something for each of its layers.

    Parameters
    ----------
    past : tuple of (KeyValueCache or tuple)
        What is remembered.
    n_layer : int
        The number of layers.
    each : str, optional
        What they are called, for the message.

    Raises
    ------
    ValueError
        If there are fewer or more.
    TypeError
        If it is no tuple, or an entry is no cache.
    """
    if not isinstance(past, tuple | list):
        raise TypeError(f"past must be a tuple of caches, one for each {each}, got {type(past).__name__}")
    check_setting("len(past)", len(past), len(past) == n_layer, f"{n_layer}, one for each {each}")
    for i, layer in enumerate(past):
        if not (hasattr(layer, "n_seen") or isinstance(layer, tuple)):
            raise TypeError(f"past[{i}] must be a cache, got {type(layer).__name__}")


def newest(mask, new):
    """Say which of the new places are tokens, from a mask of all places so far.

    Parameters
    ----------
    mask : array of bool, shape (n_batch, n_key), or None
        True for tokens, False for padding, the new places last; None where all are tokens.
    new : array, shape (n_batch, n_new, ...)
        What is new, such as ids.

    Returns
    -------
    array of bool, shape (n_batch, n_new), or None
        The last columns: what was padding before, a cache remembers.

    Raises
    ------
    ValueError
        If there are fewer columns than new places, or another number of rows.
    TypeError
        If the mask is not boolean.
    """
    array_namespace(mask, new)
    if mask is None:
        return None
    check_boolean(mask=mask)
    n_batch, n_new = new.shape[:2]
    check_shape("mask", mask, (n_batch, None))
    n_key = mask.shape[1]
    check_setting("mask.shape[1]", n_key, n_key >= n_new, f"at least {n_new}, the number of new places")
    return mask[:, n_key - n_new :]


def check_new(k, v, *, old_k, old_v, n_batch):
    """Require that keys and values can be appended to what is remembered.

    Parameters
    ----------
    k, v : array, shapes (n_batch, n_kv_head, n_new, d_head) and (n_batch, n_kv_head, n_new, d_value)
        What is new.
    old_k, old_v : array, shapes (..., n_kv_head, n_key, d_head) and (..., n_kv_head, n_key, d_value)
        What is remembered.
    n_batch : int
        The number of rows.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If the arrays are not floating, or of several dtypes.
    """
    array_namespace(k, v, old_k, old_v)
    check_floating(cache=old_k, k=k, v=v)
    check_shape("k", k, (n_batch, old_k.shape[-3], None, old_k.shape[-1]))
    check_shape("v", v, (*k.shape[:-1], old_v.shape[-1]))


def checked_counts(n, n_seen):
    """Require a number of tokens that every row has.

    Parameters
    ----------
    n : int or array of int, shape (n_batch,)
        How many tokens, of all rows or of each.
    n_seen : array of int, shape (n_batch,)
        The length of every row's past.

    Returns
    -------
    array of int, shape (n_batch,)
        How many tokens of each.

    Raises
    ------
    ValueError
        If a number is negative or beyond the length, or there is not one for each row.
    TypeError
        If the numbers are not integers.
    """
    xp = array_namespace(n_seen)
    counts = xp.zeros_like(n_seen) + n
    check_shape("n", counts, n_seen.shape)
    if counts.dtype.kind != "i":
        raise TypeError(f"n must be an integer or an array of integers, got dtype {counts.dtype}")
    is_wrong = (counts < 0) | (counts > n_seen)
    n_wrong = int(xp.sum(is_wrong.astype(xp.int64), axis=0))
    check_setting("n", n, n_wrong == 0, f"between 0 and the lengths of the rows, {n_seen}")
    return counts


def forked_rows(n_seen, n):
    """Say which row every row of a fork goes on from.

    Parameters
    ----------
    n_seen : array of int, shape (n_batch,)
        The length of every row's past.
    n : int
        In how many ways each row goes on.

    Returns
    -------
    array of int, shape (n_batch * n,)
        0, n times; 1, n times; and so on.

    Raises
    ------
    ValueError
        If `n` is not positive.
    """
    xp = array_namespace(n_seen)
    check_setting("n", n, n > 0, "at least 1")
    n_batch = n_seen.shape[0]
    return xp.reshape(xp.stack([xp.arange(n_batch)] * n, axis=1), (n_batch * n,))
