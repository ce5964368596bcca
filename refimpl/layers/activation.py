"""Activations by the name that a model's configuration gives them."""

from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.relu import relu
from refimpl.layers.tanh import tanh

ACTIVATIONS = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "tanh": tanh}


def activation_named(name):
    """Look up an activation.

    Parameters
    ----------
    name : {"relu", "gelu", "gelu_tanh", "tanh"}
        Its name; ``"gelu"`` is the exact one, with erf.

    Returns
    -------
    callable
        The component.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]
