"""Layer normalisation (Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 4): a correct sample for the rules."""

from refimpl.arrays import array_namespace, check_shape


def layer_norm(x, params, *, eps=1e-5):
    """Normalise each feature vector, then scale and shift it, like `torch.nn.LayerNorm`.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Feature vectors.
    params : dict of array
        ``weight`` and ``bias``, each of shape (d_model,).
    eps : float, optional
        Added to the variance.

    Returns
    -------
    y : array, shape (..., d_model)
        The normalised vectors.
    pullback : callable
        Maps dy to ``(dx, dparams)``.
    """
    xp = array_namespace(x, params)
    weight, bias = params["weight"], params["bias"]
    check_shape("weight", weight, x.shape[-1:])
    check_shape("bias", bias, x.shape[-1:])

    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)  # (..., 1)
    inv_std = 1.0 / xp.sqrt(variance + eps)
    x_hat = centred * inv_std
    y = x_hat * weight + bias

    def pullback(dy):
        batch_axes = tuple(range(dy.ndim - 1))
        g = dy * weight
        # Shifting or stretching x leaves x_hat alone: dx has no part along 1 or x_hat.
        along_one = xp.mean(g, axis=-1, keepdims=True)
        along_x_hat = xp.mean(g * x_hat, axis=-1, keepdims=True)
        dx = inv_std * (g - along_one - x_hat * along_x_hat)
        return dx, {"weight": xp.sum(dy * x_hat, axis=batch_axes), "bias": xp.sum(dy, axis=batch_axes)}

    return y, pullback
