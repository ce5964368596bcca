"""Position-wise feed-forward network (Vaswani et al. 2017, arXiv:1706.03762, eq. 2)."""

from refimpl.arrays import add_prefix, check_params, check_shape, keyed_as, merge, scope
from refimpl.layers.activation import activation_named
from refimpl.layers.linear import linear

FEED_KEYS = ("linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias")


def feed_forward(x, params, *, activation="relu", project=linear):
    """Widen every feature vector, bend it, and narrow it again.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Feature vectors.
    params : dict of array
        ``linear1.weight`` (d_ff, d_model), ``linear2.weight`` (d_model, d_ff) and, optionally, ``linear1.bias`` and
        ``linear2.bias``, as in `torch.nn.TransformerEncoderLayer`.
    activation : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "quick_gelu", "squared_relu"}, optional
        What bends.
    project : callable, optional
        What widens and narrows: `linear`, or for many networks at once
        `refimpl.blocks.mixture.expert_linear.expert_linear`, whose parameters have an axis more.

    Returns
    -------
    y : array, shape (..., d_model)
        ``activation(x W1' + b1) W2' + b2``.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a parameter name or the activation does not fit.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, eq. 2.
    """
    check_params(params, ["linear1.weight", "linear2.weight"], FEED_KEYS)
    bend = activation_named(activation)
    wide, linear1_pullback = project(x, scope(params, "linear1."))
    bent, bend_pullback = bend(wide)
    y, linear2_pullback = project(bent, scope(params, "linear2."))
    check_shape("linear2(...)", y, x.shape)

    def pullback(dy):
        dbent, dlinear2 = linear2_pullback(dy)
        (dwide,) = bend_pullback(dbent)
        dx, dlinear1 = linear1_pullback(dwide)
        dparams = merge(add_prefix("linear1.", dlinear1), add_prefix("linear2.", dlinear2))
        return dx, keyed_as(dparams, params)

    return y, pullback
