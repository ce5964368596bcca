"""What the shapes of queries, keys, values and masks must be to each other."""

from refimpl.arrays import array_namespace, check_floating, check_rank, check_setting, check_shape
from refimpl.attention.mask import check_mask


def check_heads(q, k, v, mask=None, *, rank=2):
    """Require queries, keys and values that fit each other, and a mask that fits their scores.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a key.
    rank : int, optional
        The number of axes that they must have at least.

    Returns
    -------
    tuple of int
        The shape of the scores, (..., n_query, n_key).

    Raises
    ------
    ValueError
        If shapes do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.
    """
    array_namespace(q, k, v, mask)
    check_floating(q=q, k=k, v=v)
    check_rank("q", q, rank)
    check_shape("k", k, (*q.shape[:-2], None, q.shape[-1]))
    check_shape("v", v, (*k.shape[:-1], None))
    check_setting("d_head", q.shape[-1], q.shape[-1] > 0, "at least 1")
    scores_shape = (*q.shape[:-1], k.shape[-2])
    check_mask(mask, scores_shape)
    return scores_shape
