"""Linear map: y = x W' + b."""

import math

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_params,
    check_rank,
    check_shape,
    keyed_as,
)


def linear(x, params):
    """Map every feature vector by one matrix, and shift it.

    Parameters
    ----------
    x : array, shape (..., d_in)
        Feature vectors.
    params : dict of array
        ``weight`` of shape (d_out, d_in) and, optionally, ``bias`` of shape (d_out,), as `torch.nn.Linear`.

    Returns
    -------
    y : array, shape (..., d_out)
        ``x W' + b``.
    pullback : callable
        Maps dy, shape (..., d_out), to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The weight is stored (d_out, d_in) as in PyTorch; GPT-2 checkpoints of Hugging Face store it (d_in, d_out).
    """
    xp = array_namespace(x, params)
    check_params(params, ["weight"], optional=["bias"])
    check_floating(x=x, params=params)
    weight = params["weight"]
    check_shape("weight", weight, (None, None))
    d_out, d_in = weight.shape
    check_rank("x", x, 1)
    check_shape("x", x, (*x.shape[:-1], d_in))
    if "bias" in params:
        check_shape("bias", params["bias"], (d_out,))

    rows = xp.reshape(x, (math.prod(x.shape[:-1]), d_in))  # (n_row, d_in)
    mapped = xp.matmul(rows, xp.swapaxes(weight, 0, 1))  # (n_row, d_out)
    shifted = mapped + params["bias"] if "bias" in params else mapped
    y = xp.reshape(shifted, (*x.shape[:-1], d_out))

    def pullback(dy):
        check_gradient(dy, (*x.shape[:-1], d_out), x.dtype)
        dmapped = xp.reshape(dy, mapped.shape)
        dx = xp.reshape(xp.matmul(dmapped, weight), x.shape)
        dparams = {
            "weight": xp.matmul(xp.swapaxes(dmapped, 0, 1), rows),
            "bias": xp.sum(dmapped, axis=0),
        }
        return dx, keyed_as(dparams, params)

    return y, pullback
