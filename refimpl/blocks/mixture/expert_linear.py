"""Many linear layers at once, each on rows of its own: what the experts of a mixture are built of."""

from refimpl.arrays import array_namespace, check_floating, check_gradient, check_params, check_shape, keyed_as


def expert_linear(x, params):
    """Map the rows of every expert by its own weight, and shift them by its own bias.

    Parameters
    ----------
    x : array, shape (n_expert, n_row, d_in)
        Feature vectors, sorted by expert.
    params : dict of array
        ``weight`` (n_expert, d_out, d_in) and, optionally, ``bias`` (n_expert, d_out): those of `linear`, stacked.

    Returns
    -------
    y : array, shape (n_expert, n_row, d_out)
        ``x[e] weight[e]' + bias[e]`` for every expert e.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.
    """
    xp = array_namespace(x, params)
    check_params(params, ["weight"], optional=["bias"])
    check_floating(x=x, params=params)
    weight = params["weight"]
    check_shape("weight", weight, (None, None, None))
    check_shape("x", x, (weight.shape[0], None, weight.shape[2]))
    if "bias" in params:
        check_shape("bias", params["bias"], weight.shape[:2])

    mapped = xp.matmul(x, xp.swapaxes(weight, 1, 2))  # (n_expert, n_row, d_out)
    y = mapped + params["bias"][:, None, :] if "bias" in params else mapped

    def pullback(dy):
        check_gradient(dy, (*x.shape[:-1], weight.shape[1]), weight.dtype)
        dx = xp.matmul(dy, weight)
        dparams = {"weight": xp.matmul(xp.swapaxes(dy, 1, 2), x), "bias": xp.sum(dy, axis=1)}
        return dx, keyed_as(dparams, params)

    return y, pullback
