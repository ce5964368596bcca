"""Causal attention to a window of the last keys (Beltagy 2020; as in Mistral 7B, Jiang et al. 2023)."""

from refimpl.arrays import array_namespace, check_setting
from refimpl.attention.sparse.band import band_mask, banded_attention


def sliding_window_mask(n_query, n_key, *, window, like):
    """Let every query attend to itself and the keys right before it.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys, aligned bottom-right.
    window : int
        How many keys a query sees, its own among them.
    like : array
        Any array of the library in which the mask is made.

    Returns
    -------
    array of bool, shape (n_query, n_key)
        True where key j is one of the `window` keys that end with query i.

    Raises
    ------
    ValueError
        If the window is not at least 1.
    """
    array_namespace(like)
    check_setting("window", window, window >= 1, "at least 1, which is the query itself")
    return band_mask(n_query, n_key, left=window - 1, right=0, like=like)


def sliding_window_attention(q, k, v, *, window, mask=None, scale=None, softcap=None):
    """Attend to the last keys only, in time and memory that grow with the length times the window.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys, aligned bottom-right: the last query sees the last `window` of them.
    v : array, shape (..., n_key, d_value)
        Values.
    window : int
        How many keys a query sees, its own among them.
    mask : array of bool, broadcasts to (..., 1, n_key), optional
        True for keys that may be seen, such as `refimpl.attention.mask.padding_mask`.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before the mask.

    Returns
    -------
    y : array, shape (..., n_query, d_value)
        As attention under `sliding_window_mask`; 0 where a query sees no key.
    pullback : callable
        Maps dy to ``(dq, dk, dv)``.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    ``sliding_window`` of Hugging Face counts the query itself, as here.  ``window_size=(left, right)`` of
    FlashAttention does not: its (W, 0) is a window of W + 1.

    References
    ----------
    Jiang et al. (2023), "Mistral 7B", arXiv:2310.06825, section 2.
    """
    xp = array_namespace(q, k, v, mask)
    check_setting("window", window, window >= 1, "at least 1, which is the query itself")
    (y, lse), band_pullback = banded_attention(
        q, k, v, left=window - 1, right=0, mask=mask, scale=scale, softcap=softcap
    )

    def pullback(dy):
        dq, dk, dv = band_pullback((dy, xp.zeros_like(lse)))
        return dq, dk, dv

    return y, pullback
