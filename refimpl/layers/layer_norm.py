"""Layer normalisation (Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4)."""

from refimpl.arrays import (
    array_namespace,
    cast,
    check_floating,
    check_gradient,
    check_params,
    check_rank,
    check_setting,
    check_shape,
    keyed_as,
    number,
    widen,
)


def layer_norm(x, params, *, eps=1e-5):
    """Normalise each feature vector, then scale and shift it.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Feature vectors.
    params : dict of array
        Optionally ``weight`` and ``bias``, each of shape (d_model,), as `torch.nn.LayerNorm`.
    eps : float, optional
        Added to the variance, inside the root.  A setting of the checkpoint: 1e-5 in PyTorch, 1e-12 in BERT.

    Returns
    -------
    y : array, shape (..., d_model)
        ``(x - mean) / sqrt(variance + eps) * weight + bias``.
    pullback : callable
        Maps dy, shape (..., d_model), to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a parameter name or eps does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The variance is the biased one, as in PyTorch: [1, 0, 0, 0] has the first entry 1.7320; 1.5 would be the
    unbiased one.  It is taken in float32 or better, as in PyTorch: in float16 it would overflow from 256 on, and BERT's
    eps would be 0.

    References
    ----------
    Ba, Kiros, Hinton (2016), "Layer Normalization", arXiv:1607.06450, eq. 4.
    """
    xp = array_namespace(x, params)
    check_params(params, [], optional=["weight", "bias"])
    check_floating(x=x, params=params)
    check_rank("x", x, 1)
    for key, param in params.items():
        check_shape(key, param, x.shape[-1:])
    number("eps", eps, at_least=0.0)
    check_setting("d_model", x.shape[-1], x.shape[-1] > 0, "at least 1: nothing has no mean")

    wide = widen(x)
    centred = wide - xp.mean(wide, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)  # (..., 1)
    inv_std = 1.0 / xp.sqrt(variance + eps)
    x_hat = centred * inv_std
    normed = cast(x_hat, x.dtype)
    scaled = normed * params["weight"] if "weight" in params else normed
    y = scaled + params["bias"] if "bias" in params else scaled

    def pullback(dy):
        check_gradient(dy, x.shape, x.dtype)
        batch_axes = tuple(range(dy.ndim - 1))
        g = widen(dy * params["weight"] if "weight" in params else dy)
        # Shifting or stretching x leaves x_hat alone: dx has no part along 1 or x_hat.
        along_one = xp.mean(g, axis=-1, keepdims=True)
        along_x_hat = xp.mean(g * x_hat, axis=-1, keepdims=True)
        dx = inv_std * (g - along_one - x_hat * along_x_hat)
        dparams = {"weight": xp.sum(dy * normed, axis=batch_axes), "bias": xp.sum(dy, axis=batch_axes)}
        return cast(dx, x.dtype), keyed_as(dparams, params)

    return y, pullback
