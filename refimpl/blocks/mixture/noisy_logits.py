"""Logits with noise whose size is learnt (Shazeer et al. 2017, arXiv:1701.06538, eq. 4)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.linear import linear

NOISE = "noise."


def noisy_logits(x, noise, params):
    """Score classes, and disturb the scores as much as the input asks for.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Feature vectors.
    noise : array, shape (..., n_class), or None
        Standard normal numbers, say; None for no noise.
    params : dict of array
        ``weight`` (n_class, d_model), optionally ``bias`` (n_class,), and ``noise.weight`` (n_class, d_model).

    Returns
    -------
    y : array, shape (..., n_class)
        ``x weight' + bias + noise * softplus(x noise.weight')``; without ``noise.weight`` the noise is added as it is.
    pullback : callable
        Maps dy to ``(dx, dnoise, dparams)``, without dnoise where there is no noise.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Shazeer et al. (2017), "Outrageously Large Neural Networks", arXiv:1701.06538, eq. 4.
    """
    xp = array_namespace(x, noise, params)
    check_params(params, ["weight"], optional=["bias", "noise.weight"])
    check_floating(x=x, noise=noise)
    clean, clean_pullback = linear(x, {key: value for key, value in params.items() if not key.startswith(NOISE)})
    if noise is not None:
        check_shape("noise", noise, clean.shape)
    is_scaled = f"{NOISE}weight" in params
    raw, raw_pullback = linear(x, scope(params, NOISE)) if is_scaled else (None, None)
    # softplus(a) = log(1 + exp(a)), written so that nothing overflows.
    decay = None if raw is None else xp.exp(xp.where(raw > 0.0, -raw, raw))  # exp(-|a|)
    scale = None if raw is None else xp.where(raw > 0.0, raw, 0.0) + xp.log(1.0 + decay)
    added = noise if noise is None or scale is None else noise * scale
    y = clean if added is None else clean + added

    def pullback(dy):
        dx, dgate = clean_pullback(dy)
        drawn = [] if noise is None else [dy * (1.0 if scale is None else scale)]
        if not is_scaled:
            return dx, *drawn, keyed_as(dgate, params)
        slope = xp.where(raw > 0.0, 1.0, decay) / (1.0 + decay)  # a sigmoid
        dx_scaled, dscale = raw_pullback(xp.zeros_like(dy) if noise is None else dy * noise * slope)
        dparams = merge(dgate, add_prefix(NOISE, dscale))
        return dx + dx_scaled, *drawn, keyed_as(dparams, params)

    return y, pullback
