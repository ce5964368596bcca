from dataclasses import FrozenInstanceError, asdict

import pytest

from refimpl.models.gpt.config import ACTIVATIONS, GptConfig

SIZES = {"vocab_size": 31, "n_position": 11, "d_model": 12, "n_head": 4, "n_layer": 2, "d_ff": 20}


def test_defaults_are_those_of_gpt2():
    settings = {"norm_first": True, "window": None, "norm_eps": 1e-5, "activation": "gelu_tanh", "tied": True}
    tokens = {"n_label": 2, "pad_id": None, "bos_id": None, "eos_id": None}
    assert asdict(GptConfig(**SIZES)) == {**SIZES, **settings, **tokens}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_taken(activation):
    assert GptConfig(**SIZES, activation=activation).activation == activation


def test_it_is_frozen():
    with pytest.raises(FrozenInstanceError):
        GptConfig(**SIZES).d_model = 24


@pytest.mark.parametrize("name", [*SIZES, "n_label", "window"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "2", True])
def test_a_size_that_is_none_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got {value!r}"):
        GptConfig(**{**SIZES, name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_head": 5}, "d_model must be a multiple of n_head = 5, got 12"),
        ({"norm_first": 1}, "norm_first must be True or False, got 1"),
        ({"tied": None}, "tied must be True or False, got None"),
        ({"norm_eps": 0.0}, "norm_eps must be a positive finite number, got 0.0"),
        ({"norm_eps": float("nan")}, "norm_eps must be a positive finite number, got nan"),
        ({"activation": "swish"}, "activation must be one of gelu_tanh, gelu, relu, silu, got 'swish'"),
        ({"bos_id": (3, 4)}, "bos_id must be None or an integer, got (3, 4)"),
        ({"eos_id": 3.0}, "eos_id must be None or an integer or a tuple of integers, got 3.0"),
        ({"eos_id": ()}, "eos_id must be None or an integer or a tuple of integers, got ()"),
        ({"eos_id": (3, None)}, "eos_id must be None or an integer or a tuple of integers, got (3, None)"),
        ({"pad_id": True}, "pad_id must be None or an integer, got True"),
    ],
)
def test_a_setting_that_is_refused(change, message):
    with pytest.raises(ValueError) as caught:
        GptConfig(**{**SIZES, **change})
    assert str(caught.value) == message
