import re

import pytest

from refimpl.layers.activation import ACTIVATIONS, activation_named
from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.relu import relu
from refimpl.layers.tanh import tanh


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu_tanh", "tanh"])
def test_names(name):
    assert activation_named(name) is {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "tanh": tanh}[name]


def test_an_unknown_name():
    expected = f"activation must be one of {', '.join(ACTIVATIONS)}, got 'swish'"
    with pytest.raises(ValueError, match=re.escape(expected)):
        activation_named("swish")
