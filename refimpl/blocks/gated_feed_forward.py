"""The gated feed-forward network of Llama, Gemma and T5 1.1 (Shazeer 2020, arXiv:2002.05202, eq. 6)."""

from refimpl.arrays import add_prefix, array_namespace, check_params, check_shape, keyed_as, merge, scope
from refimpl.layers.activation import activation_named
from refimpl.layers.linear import linear

PARTS = ("gate_proj", "up_proj", "down_proj")


def gated_feed_forward(x, params, *, activation="silu", project=linear):
    """Widen every vector twice, open one by the activation of the other, and come back.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Feature vectors.
    params : dict of array
        ``gate_proj.weight`` and ``up_proj.weight`` of shape (d_ff, d_model), ``down_proj.weight`` of shape
        (d_model, d_ff), and optionally their biases.
    activation : {"silu", "gelu", "gelu_tanh", "relu", "sigmoid", "tanh", "quick_gelu", "squared_relu"}, optional
        Of the gate: "silu" in Llama, "gelu_tanh" in Gemma and T5 1.1.
    project : callable, optional
        What widens and narrows: `linear`, or for many networks at once
        `refimpl.blocks.mixture.expert_linear.expert_linear`, whose parameters have an axis more.

    Returns
    -------
    y : array, shape (..., d_model)
        ``(activation(x gate_proj') * (x up_proj')) down_proj'``.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a parameter name or the activation does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Shazeer (2020), "GLU Variants Improve Transformer", arXiv:2002.05202, eq. 6.
    """
    array_namespace(x, params)
    check_params(params, [f"{part}.weight" for part in PARTS], optional=[f"{part}.bias" for part in PARTS])

    gate, gate_pullback = project(x, scope(params, "gate_proj."))
    up, up_pullback = project(x, scope(params, "up_proj."))
    check_shape("up_proj.weight", params["up_proj.weight"], params["gate_proj.weight"].shape)
    opened, activation_pullback = activation_named(activation)(gate)
    y, down_pullback = project(opened * up, scope(params, "down_proj."))
    check_shape("down_proj(...)", y, x.shape)

    def pullback(dy):
        dhidden, ddown = down_pullback(dy)
        (dgate,) = activation_pullback(dhidden * up)
        dx_up, dup_proj = up_pullback(dhidden * opened)
        dx_gate, dgate_proj = gate_pullback(dgate)
        parts = zip(PARTS, (dgate_proj, dup_proj, ddown), strict=True)
        dparams = merge(*(add_prefix(f"{part}.", dpart) for part, dpart in parts))
        return dx_gate + dx_up, keyed_as(dparams, params)

    return y, pullback
