"""Activations by the name that a model's configuration gives them."""

from refimpl.arrays import check_choice
from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.quick_gelu import quick_gelu
from refimpl.layers.relu import relu
from refimpl.layers.sigmoid import sigmoid
from refimpl.layers.silu import silu
from refimpl.layers.squared_relu import squared_relu
from refimpl.layers.tanh import tanh

ACTIVATIONS = {
    "relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu, "sigmoid": sigmoid, "tanh": tanh,
    "quick_gelu": quick_gelu, "squared_relu": squared_relu,
}  # fmt: skip


def activation_named(name):
    """Look up an activation.

    Parameters
    ----------
    name : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "quick_gelu", "squared_relu"}
        Its name; ``"gelu"`` is the exact one, with erf, ``"silu"`` is also known as swish.

    Returns
    -------
    callable
        The component.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    check_choice("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]
