"""Every rule against the functions of `transformers` that initialise rotary embeddings."""

import warnings

import numpy as np
import pytest

from refimpl.positions.rotary_scaling import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    NtkScaling,
    Unscaled,
    YarnScaling,
    inverse_frequencies,
)

U32 = 2.0**-24
LENGTHS = {"original_max_position_embeddings": 2048}
# Our rule, their settings, and the length at hand.
RULES = {
    "linear": (LinearScaling(4.0), {"rope_type": "linear"}, 10),
    "dynamic, short": (DynamicNtkScaling(4.0, 2048), {"rope_type": "dynamic"}, 100),
    "dynamic, as trained": (DynamicNtkScaling(4.0, 2048), {"rope_type": "dynamic"}, 2048),
    "dynamic, long": (DynamicNtkScaling(4.0, 2048), {"rope_type": "dynamic"}, 5000),
    "yarn": (YarnScaling(4.0, 2048), {"rope_type": "yarn", **LENGTHS}, 10),
    "yarn, other turns": (
        YarnScaling(4.0, 2048, 16.0, 2.0),
        {"rope_type": "yarn", "beta_fast": 16.0, "beta_slow": 2.0, **LENGTHS},
        10,
    ),
    "yarn, broken pairs": (
        YarnScaling(4.0, 2048, whole_pairs=False), {"rope_type": "yarn", "truncate": False, **LENGTHS}, 10,
    ),
    "yarn, given factor": (
        YarnScaling(4.0, 2048, attention_factor=1.5), {"rope_type": "yarn", "attention_factor": 1.5, **LENGTHS}, 10,
    ),
    "llama3": (
        Llama3Scaling(4.0, 2048), {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **LENGTHS},
        10,
    ),
    "llama3, other bounds": (
        Llama3Scaling(4.0, 2048, 2.0, 16.0),
        {"rope_type": "llama3", "low_freq_factor": 2.0, "high_freq_factor": 16.0, **LENGTHS},
        10,
    ),
}  # fmt: skip


def theirs(d, base, settings, n_position):
    import transformers
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    trained = settings["rope_type"] == "dynamic"
    config = transformers.LlamaConfig(
        hidden_size=2 * d,
        num_attention_heads=2,
        max_position_embeddings=2048 if trained else 8192,
        rope_parameters={"factor": 4.0, "rope_theta": base, **settings},
    )
    frequencies, factor = ROPE_INIT_FUNCTIONS[settings["rope_type"]](config, "cpu", seq_len=n_position)
    return frequencies.double().numpy(), factor


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("base", [10000.0, 500000.0])
@pytest.mark.parametrize("d", [4, 8, 64, 128])
def test_frequencies_and_factor_are_those_of_transformers(name, base, d):
    """Theirs are float32; in a blend the share is off by u d/2 at most, and counts as much as the pair is squeezed."""
    rule, settings, n_position = RULES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, factor = theirs(d, base, settings, n_position)
    got, got_factor = rule(d, base, n_position)
    assert got_factor == factor
    assert np.all(np.abs(np.array(got) - want) <= (8 + 4.0 * d / 2) * U32 * want)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_changes_something(name):
    rule, _, n_position = RULES[name]
    changed = rule(64, 10000.0, n_position) != Unscaled()(64, 10000.0, n_position)
    assert changed == (name not in ("dynamic, short", "dynamic, as trained"))


def test_unscaled_frequencies_by_hand():
    assert inverse_frequencies(4, 100.0) == [1.0, 0.1]
    assert Unscaled()(4, 100.0, 7) == ([1.0, 0.1], 1.0)


def test_ntk_squeezes_the_slowest_pair_by_the_factor_and_keeps_the_fastest():
    unscaled, scaled = inverse_frequencies(8, 10000.0), NtkScaling(4.0)(8, 10000.0, 1)[0]
    assert scaled[0] == unscaled[0]
    assert abs(scaled[-1] / unscaled[-1] - 0.25) <= 8 * np.finfo(np.float64).eps
    assert NtkScaling(4.0)(2, 10000.0, 1) == ([1.0], 1.0)


def test_dynamic_ntk_at_twice_the_length_is_ntk_with_one_more():
    got = DynamicNtkScaling(3.0, 100)(8, 10000.0, 200)
    assert got == NtkScaling(4.0)(8, 10000.0, 200)


def test_yarn_keeps_fast_pairs_and_squeezes_slow_ones():
    unscaled = inverse_frequencies(64, 10000.0)
    scaled, factor = YarnScaling(4.0, 2048)(64, 10000.0, 1)
    assert scaled[0] == unscaled[0]
    assert scaled[-1] == unscaled[-1] / 4.0
    assert factor == 0.1 * np.log(4.0) + 1.0
    assert YarnScaling(1.0, 2048)(64, 10000.0, 1)[1] == 1.0
