"""Masks: True means "attends".  Combine them with ``&``."""

from refimpl.arrays import (
    array_namespace,
    check_boolean,
    check_broadcastable,
    check_ids,
    check_rank,
    check_setting,
    check_shape,
    integer,
)


def causal_mask(n_query, n_key, *, like, align="bottom_right"):
    """Let every query attend to the keys up to its own position.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys.
    like : array
        Any array of the library in which the mask is made.
    align : {"bottom_right", "top_left"}, optional
        Which corners meet when the numbers differ.  Bottom-right: the last query sees every key, so a single
        query with a cache of keys sees them all.  Top-left: the first query sees the first key only.

    Returns
    -------
    array of bool, shape (n_query, n_key)
        True where key j is not after query i.

    Raises
    ------
    ValueError
        If `align` is neither.

    Notes
    -----
    ``is_causal=True`` of `torch.nn.functional.scaled_dot_product_attention` is top-left.  With more queries than
    keys, bottom-right leaves the first queries with nothing to attend to: their output is 0.
    """
    xp = array_namespace(like)
    integer("n_query", n_query, at_least=0)
    integer("n_key", n_key, at_least=0)
    check_setting("align", align, align in ("bottom_right", "top_left"), "bottom_right or top_left")
    n_before = n_key - n_query if align == "bottom_right" else 0
    return xp.arange(n_key)[None, :] <= xp.arange(n_query)[:, None] + n_before


def padding_mask(is_token):
    """Let every query attend to the keys that are tokens, not padding.

    Parameters
    ----------
    is_token : array of bool, shape (n_batch, n_key)
        True for tokens, False for padding (``attention_mask == 1`` of Hugging Face).

    Returns
    -------
    array of bool, shape (n_batch, 1, 1, n_key)
        The mask, for any number of heads and queries.

    Raises
    ------
    ValueError
        If `is_token` has not two axes.
    TypeError
        If `is_token` is not boolean.

    Notes
    -----
    ``key_padding_mask`` of `torch.nn.MultiheadAttention` is the opposite: True for padding.
    """
    array_namespace(is_token)
    check_boolean(is_token=is_token)
    check_shape("is_token", is_token, (None, None))
    return is_token[:, None, None, :]


def length_mask(lengths, n_key):
    """Say which of the positions are tokens, from the length of every sequence.

    Parameters
    ----------
    lengths : array of int, shape (n_batch,)
        The number of tokens, which come first.
    n_key : int
        The padded length.

    Returns
    -------
    array of bool, shape (n_batch, n_key)
        True for tokens; give it to `padding_mask`.

    Raises
    ------
    ValueError
        If `lengths` has not one axis, or a length is negative or beyond `n_key`.
    TypeError
        If the lengths are not integers.
    """
    xp = array_namespace(lengths)
    integer("n_key", n_key, at_least=0)
    check_shape("lengths", lengths, (None,))
    check_ids("lengths", lengths, n_key + 1)
    return xp.arange(n_key)[None, :] < lengths[:, None]


def check_mask(mask, scores_shape, *, name="mask"):
    """Require an attention mask.

    Parameters
    ----------
    mask : array or None
        What came.
    scores_shape : tuple of int
        The shape of the scores, (..., n_query, n_key).
    name : str, optional
        The argument's name, for the message.

    Raises
    ------
    TypeError
        If the mask is not boolean.
    ValueError
        If it has fewer than two axes or does not broadcast to the scores.
    """
    if mask is None:
        return
    check_rank(name, mask, 2)
    if mask.dtype.kind != "b":
        raise TypeError(
            f"{name} must be a boolean array (True attends), got dtype {mask.dtype}: "
            "numbers to be added to the scores are the bias of refimpl.attention.dot_product.attention"
        )
    check_broadcastable(name, mask, scores_shape)


def blank_unattended(x, mask, *, axis):
    """Put 0 where no query attends, so that padding may hold NaN or inf without touching anything.

    Parameters
    ----------
    x : array, shape (..., n_key, d)
        Keys or values (or, for ``axis=-1``, queries).
    mask : array of bool, broadcasts to (..., n_query, n_key), or None
        The attention mask.
    axis : {-2, -1} or tuple of int
        The axes of the mask that are not positions of `x`: queries for keys and values, keys for queries.

    Returns
    -------
    array
        `x`, with 0 at the positions that are masked for every query.
    """
    xp = array_namespace(x, mask)
    return x if mask is None else xp.where(xp.any(mask, axis=axis)[..., None], x, 0.0)
