"""Gated linear units: one half of the features opens the other (Dauphin et al. 2017, Shazeer 2020)."""

from refimpl.arrays import array_namespace, check_choice, check_floating, check_gradient, check_rank, check_setting
from refimpl.layers.activation import activation_named

GATES = ("first", "second")


def gated(x, *, activation="sigmoid", gate="first"):
    """Multiply one half of the features by the activation of the other.

    Parameters
    ----------
    x : array, shape (..., 2 * d)
        Gate and value side by side, as one linear map gives them.
    activation : {"sigmoid", "silu", "gelu", "gelu_tanh", "relu", "tanh"}, optional
        Of the gate: GLU, SwiGLU, GeGLU (with erf or tanh), ReGLU, GTU.
    gate : {"first", "second"}, optional
        Which half is the gate.

    Returns
    -------
    y : array, shape (..., d)
        ``activation(gate) * value``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    ValueError
        If the features cannot be halved, or a setting is none of those.
    TypeError
        If `x` is not floating.

    Notes
    -----
    The gate comes first in Shazeer's formulae and in the fused projections of Phi-3 and others.  It comes second in
    `torch.nn.functional.glu` and in Dauphin et al.

    References
    ----------
    Shazeer (2020), "GLU Variants Improve Transformer", arXiv:2002.05202, eq. 4 and 5.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    check_rank("x", x, 1)
    check_setting("the size of x", x.shape[-1], x.shape[-1] % 2 == 0, "even: two halves")
    check_choice("gate", gate, GATES)
    half = x.shape[-1] // 2

    first, second = x[..., :half], x[..., half:]
    opening, value = (first, second) if gate == "first" else (second, first)
    opened, activation_pullback = activation_named(activation)(opening)
    y = opened * value

    def pullback(dy):
        check_gradient(dy, value.shape, value.dtype)
        (dopening,) = activation_pullback(dy * value)
        dvalue = dy * opened
        dx = xp.concatenate([dopening, dvalue] if gate == "first" else [dvalue, dopening], axis=-1)
        return (dx,)

    return y, pullback
