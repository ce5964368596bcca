"""Faults of positions that other implementations really had; the numbers name the public reports."""

import math

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.layers.linear import linear
from refimpl.positions.alibi import alibi_bias, alibi_slopes
from refimpl.positions.rotary import rotary
from refimpl.positions.rotary_layout import half_to_interleaved, interleaved_to_half
from refimpl.positions.sinusoidal import sinusoidal_positions
from refimpl.positions.token_positions import token_positions


def scores(x, projections, layout, d_rotary):
    """Project to two heads of six features, turn, and multiply."""
    q, k = (linear(x, {"weight": weight})[0].reshape(5, 2, 6).swapaxes(0, 1) for weight in projections)
    q, k = (rotary(part, layout=layout, d_rotary=d_rotary)[0] for part in (q, k))
    return q @ k.mT


@pytest.mark.parametrize("d_rotary", [6, 4])
@pytest.mark.parametrize(
    ("convert", "one", "other"),
    [(half_to_interleaved, "half", "interleaved"), (interleaved_to_half, "interleaved", "half")],
)
def test_P1_layouts_are_equal_after_permuting_q_and_k(convert, one, other, d_rotary):
    """transformers 25199: and not before."""
    rng = np.random.default_rng(0)
    x, *projections = rng.normal(size=(5, 8)), rng.normal(size=(12, 8)), rng.normal(size=(12, 8))
    converted = [convert(weight, n_head=2, d_rotary=d_rotary) for weight in projections]
    want = scores(x, projections, one, d_rotary)
    # The same products in another order: 6 of them are added, each smaller than 64.
    error = np.abs(scores(x, converted, other, d_rotary) - want)
    assert np.all(error <= 6 * 64 * np.finfo(np.float64).eps)
    assert np.any(np.abs(scores(x, projections, other, d_rotary) - want) > 0.1)
    assert np.any(np.abs(scores(x, [converted[0], projections[1]], other, d_rotary) - want) > 0.1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_P2_angles_are_computed_in_float32_whatever_the_activations(dtype):
    """sglang-jax 1472: inverse frequencies in bfloat16 turn the cosine at position 4095 by up to 0.83."""
    d = 128
    x = np.concatenate([np.ones(d // 2), np.zeros(d // 2)])[None]
    y = rotary(narrow(x, dtype), offset=4095)[0].astype(np.float64)
    angles = [4095 * 10000.0 ** (-2 * i / d) for i in range(d // 2)]
    want = [*map(math.cos, angles), *map(math.sin, angles)]
    # The product of position and frequency is rounded in float32 three times, the result twice in 16 bits.
    bound = 4095 * 3 * 2.0**-24 + 2 * {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    assert np.max(np.abs(y - want)) <= bound
    frequencies = narrow(10000.0 ** (-np.arange(0, d, 2) / d), dtype).astype(np.float64)
    off = np.max(np.abs(np.cos(4095 * frequencies) - np.cos(angles)))
    assert off > (0.83 if dtype == "bfloat16" else 10 * bound)


@pytest.mark.parametrize("encode", [rotary, sinusoidal_positions])
def test_P2_positions_256_and_257_differ_in_bfloat16(encode):
    """gpt-neox 1016: as numbers in bfloat16 they are one."""
    assert narrow(256.0, "bfloat16") == narrow(257.0, "bfloat16")
    y, _ = encode(narrow(np.ones((2, 8)), "bfloat16"), offset=256)
    assert np.max(np.abs(y[1].astype(np.float64) - y[0].astype(np.float64))) > 0.5


def test_P3_left_padding_starts_counting_at_the_first_token():
    """nnsight 673: the cumulated mask minus 1, clipped at 0; a padded row is turned like the bare one."""
    is_token = np.array([[False, False, True, True, True], [True] * 5])
    positions = token_positions(is_token)
    np.testing.assert_array_equal(positions, [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 8))
    y, _ = rotary(x, positions=positions[:, None, :])
    np.testing.assert_array_equal(y[0, :, 2:], rotary(x[0, :, 2:])[0])
    np.testing.assert_array_equal(y[1], rotary(x[1])[0])


def test_P4_slopes_of_12_and_of_8_heads():
    """mlx 343, aprender 2143."""
    powers = [*range(1, 9), 0.5, 1.5, 2.5, 3.5]
    assert alibi_slopes(12) == [2.0**-power for power in powers]
    assert alibi_slopes(8) == [2.0**-power for power in range(1, 9)]
    assert alibi_bias(1, 2, n_head=8, like=np.ones(1))[0, 0].tolist() == [-0.5, 0.0]


@pytest.mark.parametrize("d_model", [6, 7])
def test_P6_concatenated_is_a_permutation_of_interleaved(d_model):
    """allennlp 2993: and the exponent is 2 i / d with i counting pairs."""
    x = np.zeros((9, d_model))
    interleaved, _ = sinusoidal_positions(x)
    concatenated, _ = sinusoidal_positions(x, layout="concatenated")
    order = [*range(0, d_model, 2), *range(1, d_model, 2)]
    np.testing.assert_array_equal(concatenated, interleaved[:, order])
    # The slowest sine stands at feature 2 i: its wavelength is 2 pi 10000^(2 i / d).
    i = (d_model - 1) // 2
    assert abs(interleaved[1, 2 * i] - math.sin(10000.0 ** (-2 * i / d_model))) <= 4 * np.finfo(np.float64).eps
