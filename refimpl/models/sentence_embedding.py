"""Sentence embedding: the mean of the tokens' vectors, at length 1 (Reimers & Gurevych 2019, arXiv:1908.10084)."""

from refimpl.arrays import array_namespace, check_boolean, check_floating, check_shape
from refimpl.layers.unit import unit_vectors


def sentence_embedding(x, *, is_token):
    """Sum up every sequence in one vector of length 1: the direction of the mean of its tokens.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The last hidden states of an encoder.
    is_token : array of bool, shape (n_batch, n_seq)
        True for tokens, False for padding, which may hold anything.

    Returns
    -------
    y : array, shape (n_batch, d_model)
        The embeddings, so that the inner product of two is their cosine; 0 for a sequence without tokens.
    pullback : callable
        Maps dy to ``(dx,)``; padding has gradient 0.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If `x` is not floating or `is_token` not boolean.

    Notes
    -----
    The modules ``Pooling`` (mean) and ``Normalize`` of Sentence-Transformers.

    References
    ----------
    Reimers, Gurevych (2019), "Sentence-BERT", arXiv:1908.10084, section 3 (MEAN strategy).
    """
    xp = array_namespace(x, is_token)
    check_floating(x=x)
    check_boolean(is_token=is_token)
    check_shape("x", x, (None, None, None))
    check_shape("is_token", is_token, x.shape[:2])

    kept = is_token[:, :, None]
    n_token = xp.sum(is_token.astype(x.dtype), axis=1, keepdims=True)  # (n_batch, 1)
    divisor = xp.where(n_token == 0.0, 1.0, n_token)
    mean = xp.sum(xp.where(kept, x, 0.0), axis=1) / divisor  # (n_batch, d_model)
    y, unit_pullback = unit_vectors(mean)

    def pullback(dy):
        (dmean,) = unit_pullback(dy)
        dx = xp.where(kept, (dmean / divisor)[:, None] + xp.zeros_like(x), 0.0)
        return (dx,)

    return y, pullback
