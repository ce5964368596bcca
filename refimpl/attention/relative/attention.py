"""Attention by content and by distance (Transformer-XL; Dai et al. 2019, arXiv:1901.02860, section 3.3)."""

import math

from refimpl.arrays import array_namespace, check_floating, check_shape, sum_to
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import blank_unattended, causal_mask
from refimpl.attention.relative.shift import relative_shift
from refimpl.attention.shapes import check_heads


def relative_attention(q, k, v, r, content_bias, position_bias, *, mask=None, scale=None):
    """Gather values from the keys up to each query's own, by what they hold and by how far back they lie.

    Parameters
    ----------
    q : array, shape (..., n_head, n_query, d_head)
        Queries.
    k : array, shape (..., n_head, n_key, d_head)
        Keys: those of the memory, then those of the segment, aligned bottom-right.
    v : array, shape (..., n_head, n_key, d_value)
        Values.
    r : array, shape (n_head, n_key, d_head)
        Encodings of the distances n_key - 1, …, 1, 0, projected for every head.
    content_bias : array, shape (n_head, d_head)
        u of the paper: what every query asks of the content, wherever it stands.
    position_bias : array, shape (n_head, d_head)
        v of the paper: what every query asks of the distance.
    mask : array of bool, broadcasts to (..., n_head, n_query, n_key), optional
        True where a query attends to a key, besides the causal mask, which always applies.
    scale : float, optional
        Multiplies the scores; by default ``1 / sqrt(d_head)``.

    Returns
    -------
    y : array, shape (..., n_head, n_query, d_value)
        The gathered values; 0 where a query attends to no key.
    pullback : callable
        Maps dy to ``(dq, dk, dv, dr, dcontent_bias, dposition_bias)``.

    Raises
    ------
    ValueError
        If shapes do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    Keys after a query have no distance: what the shift leaves there must be masked, and is.  XLNet attends to both
    sides, with encodings of negative distances as well.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 3.3 and appendix B.
    """
    xp = array_namespace(q, k, v, r, content_bias, position_bias, mask)
    _check(q, k, v, r, content_bias, position_bias, mask)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    causal = causal_mask(q.shape[-2], k.shape[-2], like=q)
    seen = causal if mask is None else causal & mask

    queries = blank_unattended(q, seen, axis=-1)
    of_content = queries + content_bias[:, None, :]
    of_position = queries + position_bias[:, None, :]
    by_distance = xp.matmul(of_position, xp.swapaxes(r, -1, -2)) * factor  # (..., n_head, n_query, n_key)
    by_key, shift_pullback = relative_shift(by_distance)
    y, attention_pullback = attention(of_content, k, v, by_key, mask=seen, scale=factor)

    def pullback(dy):
        dof_content, dk, dv, dby_key = attention_pullback(dy)
        (dby_distance,) = shift_pullback(dby_key)
        dof_position = xp.matmul(dby_distance, r) * factor
        dr = sum_to(xp.matmul(xp.swapaxes(dby_distance, -1, -2), of_position) * factor, r.shape)
        dcontent_bias = sum_to(xp.sum(dof_content, axis=-2), content_bias.shape)
        dposition_bias = sum_to(xp.sum(dof_position, axis=-2), position_bias.shape)
        return dof_content + dof_position, dk, dv, dr, dcontent_bias, dposition_bias

    return y, pullback


def _check(q, k, v, r, content_bias, position_bias, mask):
    check_heads(q, k, v, mask, rank=3)
    check_floating(q=q, r=r, content_bias=content_bias, position_bias=position_bias)
    n_head, d_head = q.shape[-3], q.shape[-1]
    check_shape("r", r, (n_head, k.shape[-2], d_head))
    check_shape("content_bias", content_bias, (n_head, d_head))
    check_shape("position_bias", position_bias, (n_head, d_head))
