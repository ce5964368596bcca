"""Segment memory: of all that went before, keep the last positions (Dai et al. 2019, arXiv:1901.02860, section 3.2)."""

from refimpl.arrays import array_namespace, check_floating, check_gradient, check_shape, integer


def segment_memory(memory, x, *, n_memory):
    """Append a segment to what is remembered, and forget what is too old.

    Parameters
    ----------
    memory : array, shape (n_layer, n_batch, n_before, d_model)
        What is remembered of earlier segments, for every layer.
    x : array, shape (n_layer, n_batch, n_seq, d_model)
        What went into every layer for this segment.
    n_memory : int
        How many positions are kept.

    Returns
    -------
    y : array, shape (n_layer, n_batch, min(n_before + n_seq, n_memory), d_model)
        The last positions of both.
    pullback : callable
        Maps dy to ``(dmemory, dx)``; what is forgotten has gradient 0.

    Raises
    ------
    ValueError
        If a shape does not fit, or `n_memory` is negative.
    TypeError
        If the arrays are not floating, of one dtype and of one library.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 3.2.
    """
    xp = array_namespace(memory, x)
    check_floating(memory=memory, x=x)
    check_shape("x", x, (None, None, None, None))
    check_shape("memory", memory, (*x.shape[:2], None, x.shape[3]))
    integer("n_memory", n_memory, at_least=0)
    n_before = memory.shape[2]
    n_forgotten = max(0, n_before + x.shape[2] - n_memory)

    both = xp.concatenate([memory, x], axis=2)
    y = both[:, :, n_forgotten:]
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        dboth = xp.pad(dy, ((0, 0), (0, 0), (n_forgotten, 0), (0, 0)), mode="constant")
        return dboth[:, :, :n_before], dboth[:, :, n_before:]

    return y, pullback
