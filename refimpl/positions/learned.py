"""Learned absolute positions: one trained vector for every position (Gehring et al. 2017, arXiv:1705.03122)."""

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_params,
    check_rank,
    check_setting,
    check_shape,
)


def learned_positions(x, params, *, offset=0):
    """Add to every vector the one that was learned for its position.

    Parameters
    ----------
    x : array, shape (..., n_seq, d_model)
        Feature vectors.
    params : dict of array
        ``weight`` of shape (n_position, d_model), as `torch.nn.Embedding`.
    offset : int, optional
        The position of the first vector.

    Returns
    -------
    y : array, shape (..., n_seq, d_model)
        ``x + weight[offset : offset + n_seq]``.
    pullback : callable
        Maps dy to ``(dx, dparams)``; positions that were not used have gradient 0.

    Raises
    ------
    ValueError
        If the sequence runs past the last learned position, or a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Gehring et al. (2017), "Convolutional Sequence to Sequence Learning", arXiv:1705.03122, section 3.1.
    """
    xp = array_namespace(x, params)
    check_params(params, ["weight"])
    check_floating(x=x, params=params)
    check_rank("x", x, 2)
    weight = params["weight"]
    check_shape("weight", weight, (None, x.shape[-1]))
    n_position, n_seq = weight.shape[0], x.shape[-2]
    end = offset + n_seq
    check_setting("offset", offset, offset >= 0, "at least 0")
    check_setting("offset + n_seq", end, end <= n_position, f"at most {n_position}, the number of positions")

    y = x + weight[offset:end]
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        batch_axes = tuple(range(dy.ndim - 2))
        dused = xp.sum(dy, axis=batch_axes)  # (n_seq, d_model)
        dweight = xp.pad(dused, ((offset, n_position - end), (0, 0)), mode="constant")
        # Adding 0 gives dx an array of its own.
        return dy + 0.0, {"weight": dweight}

    return y, pullback
