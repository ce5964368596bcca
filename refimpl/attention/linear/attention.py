"""Linear attention: a product of features in the place of the softmax (Katharopoulos et al. 2020, arXiv:2006.16236)."""

from refimpl.arrays import (
    array_namespace,
    cast,
    check_boolean,
    check_broadcastable,
    check_floating,
    check_gradient,
    check_rank,
    check_setting,
    check_shape,
)


def elu_plus_one(x):
    """Make positive features: x + 1 above 0, exp(x) below.

    Parameters
    ----------
    x : array, shape (...)
        Queries or keys.

    Returns
    -------
    y : array, shape (...)
        ``elu(x) + 1``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.

    Notes
    -----
    Computed as ``elu(x) + 1``, as elsewhere, it loses its digits far below 0, where -1 + 1 cancels.

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs", arXiv:2006.16236, eq. 7.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    above = x > 0.0
    slope = xp.exp(xp.where(above, 0.0, x))
    y = xp.where(above, x + 1.0, slope)

    def pullback(dy):
        check_gradient(dy, slope.shape, slope.dtype)
        return (dy * slope,)

    return y, pullback


def linear_attention(q, k, v, *, feature_map=elu_plus_one, is_token=None):
    """Let every query attend to all keys, in time and memory that grow with their number and not its square.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    feature_map : callable, optional
        A component that makes features, none negative, of queries and of keys.
    is_token : array of bool, broadcasts to (..., n_key), optional
        False for keys that no query attends to.

    Returns
    -------
    y : array, shape (..., n_query, d_value)
        The mean of the values, weighted by ``sum(feature_map(q) * feature_map(k))``; 0 where all weights are 0.
    pullback : callable
        Maps dy to ``(dq, dk, dv)``.

    Raises
    ------
    ValueError
        If shapes do not fit.
    TypeError
        If the arrays are not floating, `is_token` is not boolean, or dtypes or libraries differ.

    Notes
    -----
    The scores are not scaled.  Any mask but one of keys, or the causal one, would need the scores one by one.

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs", arXiv:2006.16236, eq. 5.
    """
    xp = array_namespace(q, k, v, is_token)
    _check(q, k, v, is_token)
    of_q, q_pullback = feature_map(q)  # (..., n_query, d_feature)
    of_k, k_pullback = _features_of_tokens(xp, k, is_token, feature_map)
    values = _blank(xp, v, is_token)
    memory = xp.matmul(xp.swapaxes(of_k, -1, -2), values)  # (..., d_feature, d_value)
    normaliser = xp.sum(of_k, axis=-2, keepdims=True)  # (..., 1, d_feature)
    total = _nonzero(xp, xp.sum(of_q * normaliser, axis=-1, keepdims=True))  # (..., n_query, 1)
    y = xp.matmul(of_q, memory) / total

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        dsum = dy / total
        dtotal = -xp.sum(dsum * y, axis=-1, keepdims=True)
        dof_q = xp.matmul(dsum, xp.swapaxes(memory, -1, -2)) + dtotal * normaliser
        dmemory = xp.matmul(xp.swapaxes(of_q, -1, -2), dsum)
        dof_k = xp.matmul(values, xp.swapaxes(dmemory, -1, -2)) + xp.sum(dtotal * of_q, axis=-2, keepdims=True)
        (dq,) = q_pullback(dof_q)
        (dk,) = k_pullback(dof_k)
        return dq, dk, xp.matmul(of_k, dmemory)

    return y, pullback


def causal_linear_attention(q, k, v, *, feature_map=elu_plus_one, is_token=None):
    """Let every query attend to the keys up to its own position, all positions at once.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries; the last stands where the last key stands.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    feature_map : callable, optional
        A component that makes features, none negative, of queries and of keys.
    is_token : array of bool, broadcasts to (..., n_key), optional
        False for keys that no query attends to.

    Returns
    -------
    y : array, shape (..., n_query, d_value)
        Weighted means of the values; 0 where all weights are 0.
    pullback : callable
        Maps dy to ``(dq, dk, dv)``.

    Raises
    ------
    ValueError
        If shapes do not fit.
    TypeError
        If the arrays are not floating, `is_token` is not boolean, or dtypes or libraries differ.

    Notes
    -----
    All positions at once means all weights at once: memory grows with the square of the length, as it does not in
    `refimpl.attention.linear.recurrent.recurrent_linear_attention`.

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs", arXiv:2006.16236, eq. 8.
    """
    xp = array_namespace(q, k, v, is_token)
    _check(q, k, v, is_token)
    n_before = k.shape[-2] - q.shape[-2]
    of_q, q_pullback = feature_map(q)
    of_k, k_pullback = _features_of_tokens(xp, k, is_token, feature_map)
    values = _blank(xp, v, is_token)
    weights = xp.tril(xp.matmul(of_q, xp.swapaxes(of_k, -1, -2)), k=n_before)  # (..., n_query, n_key)
    total = _nonzero(xp, xp.sum(weights, axis=-1, keepdims=True))  # (..., n_query, 1)
    y = xp.matmul(weights, values) / total

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        dsum = dy / total
        dtotal = -xp.sum(dsum * y, axis=-1, keepdims=True)
        dweights = xp.tril(xp.matmul(dsum, xp.swapaxes(values, -1, -2)), k=n_before)
        # What lifts all weights of a row alike stays by itself: its rounding would be that of every weight.
        seen = cast(xp.tril(xp.ones(weights.shape[-2:], dtype=xp.float32), k=n_before), dy.dtype)
        dof_q = xp.matmul(dweights, of_k) + dtotal * xp.matmul(seen, of_k)
        dof_k = xp.matmul(xp.swapaxes(dweights, -1, -2), of_q) + xp.matmul(xp.swapaxes(seen, 0, 1), dtotal * of_q)
        (dq,) = q_pullback(dof_q)
        (dk,) = k_pullback(dof_k)
        return dq, dk, xp.matmul(xp.swapaxes(weights, -1, -2), dsum)

    return y, pullback


def _features_of_tokens(xp, k, is_token, feature_map):
    features, features_pullback = feature_map(_blank(xp, k, is_token))

    def pullback(dfeatures):
        return features_pullback(_blank(xp, dfeatures, is_token))

    return _blank(xp, features, is_token), pullback


def _blank(xp, x, is_token):
    return x if is_token is None else xp.where(is_token[..., None], x, 0.0)


def _nonzero(xp, total):
    return xp.where(total == 0.0, 1.0, total)


def _check(q, k, v, is_token):
    check_floating(q=q, k=k, v=v)
    check_rank("q", q, 2)
    check_shape("k", k, (*q.shape[:-2], None, q.shape[-1]))
    check_shape("v", v, (*k.shape[:-1], None))
    check_setting("d_head", q.shape[-1], q.shape[-1] > 0, "at least 1")
    if is_token is not None:
        check_boolean(is_token=is_token)
        check_rank("is_token", is_token, 1)
        check_broadcastable("is_token", is_token, k.shape[:-1])
