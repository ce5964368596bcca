"""Root mean square normalisation (Zhang & Sennrich 2019, arXiv:1910.07467, eq. 4)."""

from refimpl.arrays import (
    array_namespace,
    cast,
    check_choice,
    check_floating,
    check_gradient,
    check_params,
    check_rank,
    check_setting,
    check_shape,
    number,
    widen,
)

ORDERS = ("scale first", "cast first")


def rms_norm(x, params, *, eps=1e-6, weight_offset=0.0, order="scale first"):
    """Divide each feature vector by its root mean square, then scale it.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Feature vectors.
    params : dict of array
        Optionally ``weight`` of shape (d_model,), as `torch.nn.RMSNorm`.
    eps : float, optional
        Added to the mean square, inside the root.  A setting of the checkpoint.
    weight_offset : float, optional
        Added to the weight: 1 for checkpoints that store how far the scale is from 1 (Gemma).
    order : {"scale first", "cast first"}, optional
        Where 16-bit numbers are rounded: after the scale, which is then applied in float32, or before it.

    Returns
    -------
    y : array, shape (..., d_model)
        ``x / sqrt(mean(x²) + eps) * (weight + weight_offset)``.
    pullback : callable
        Maps dy, shape (..., d_model), to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a parameter name or a setting does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The mean square is taken in float32 or better: in float16 it would overflow from 256 on.  `torch.nn.RMSNorm` and
    Gemma scale first, Llama casts first.  The default eps of `torch.nn.RMSNorm` is the spacing of the dtype at 1; in
    Hugging Face it is 1e-6.

    References
    ----------
    Zhang, Sennrich (2019), "Root Mean Square Layer Normalization", arXiv:1910.07467, eq. 4.
    """
    xp = array_namespace(x, params)
    check_params(params, [], optional=["weight"])
    check_floating(x=x, params=params)
    check_rank("x", x, 1)
    check_setting("d_model", x.shape[-1], x.shape[-1] > 0, "at least 1: nothing has no mean")
    number("eps", eps, at_least=0.0)
    number("weight_offset", weight_offset)
    check_choice("order", order, ORDERS)
    for key, param in params.items():
        check_shape(key, param, x.shape[-1:])

    wide = widen(x)
    mean_square = xp.mean(wide * wide, axis=-1, keepdims=True)  # (..., 1)
    inv_rms = 1.0 / xp.sqrt(mean_square + eps)
    x_hat = wide * inv_rms
    normed = cast(x_hat, x.dtype) if order == "cast first" else x_hat
    scale = cast(params["weight"], normed.dtype) + weight_offset if params else None
    y = cast(normed if scale is None else normed * scale, x.dtype)

    def pullback(dy):
        check_gradient(dy, x.shape, x.dtype)
        dscaled = cast(dy, normed.dtype)
        g = cast(dscaled if scale is None else dscaled * scale, wide.dtype)
        # Stretching x leaves x_hat alone: dx has no part along x_hat.
        along_x_hat = xp.mean(g * x_hat, axis=-1, keepdims=True)
        dx = inv_rms * (g - x_hat * along_x_hat)
        dweight = xp.sum(dscaled * normed, axis=tuple(range(dy.ndim - 1)))
        dparams = {"weight": cast(dweight, x.dtype)} if params else {}
        return cast(dx, x.dtype), dparams

    return y, pullback
