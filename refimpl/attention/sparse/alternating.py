"""Dense and banded attention in turn, layer by layer (GPT-3; Brown et al. 2020, arXiv:2005.14165, section 2.1)."""

from refimpl.arrays import array_namespace, check_setting
from refimpl.attention.mask import causal_mask, check_mask
from refimpl.attention.shapes import check_heads
from refimpl.attention.sparse.band import banded_attention
from refimpl.attention.sparse.sliding_window import sliding_window_mask
from refimpl.attention.tiled.attention import tiled_attention


def alternating_mask(n_query, n_key, *, layer, window, like):
    """Make the mask of one layer of GPT-3: causal in every second layer, a sliding window in the others.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys, aligned bottom-right.
    layer : int
        The layer's number; even ones are dense.
    window : int
        How many keys a query of an odd layer sees, its own among them.
    like : array
        Any array of the library in which the mask is made.

    Returns
    -------
    array of bool, shape (n_query, n_key)
        True where a query attends to a key.
    """
    array_namespace(like)
    if layer % 2 == 0:
        return causal_mask(n_query, n_key, like=like)
    return sliding_window_mask(n_query, n_key, window=window, like=like)


def alternating_attention(q, k, v, *, layer, window, mask=None, scale=None, softcap=None):
    """Attend as one layer of GPT-3: to all keys so far in every second layer, to the last ones in the others.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys, aligned bottom-right.
    v : array, shape (..., n_key, d_value)
        Values.
    layer : int
        The layer's number; even ones are dense.
    window : int
        How many keys a query of an odd layer sees, its own among them.
    mask : array of bool, broadcasts to (..., 1, n_key), optional
        True for keys that may be seen.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before the mask.

    Returns
    -------
    y : array, shape (..., n_query, d_value)
        As attention under `alternating_mask`.
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
    Which of the two comes first is not published; GPT-Neo begins with a dense layer, as here.

    References
    ----------
    Brown et al. (2020), "Language Models are Few-Shot Learners", arXiv:2005.14165, section 2.1.
    """
    xp = array_namespace(q, k, v, mask)
    check_heads(q, k, v)
    check_mask(mask, (*q.shape[:-2], 1, k.shape[-2]))
    check_setting("layer", layer, layer >= 0, "at least 0")
    check_setting("window", window, window >= 1, "at least 1, which is the query itself")
    settings = {"mask": mask, "scale": scale, "softcap": softcap}
    is_dense = layer % 2 == 0
    (y, lse), attention_pullback = (
        tiled_attention(q, k, v, causal=True, **settings)
        if is_dense
        else banded_attention(q, k, v, left=window - 1, right=0, **settings)
    )

    def pullback(dy):
        dq, dk, dv = attention_pullback((dy, xp.zeros_like(lse)))
        return dq, dk, dv

    return y, pullback
