"""The oracles that check pullbacks must find a wrong one, and agree with a right one."""

import numpy as np
import pytest

from compare.cases.registry import all_cases
from compare.measure.truth import find_truth
from compare.peers.autograd_peer import autograd_gradients
from compare.peers.complex_step import STEP, complex_step_products
from refimpl.layers.gelu import gelu
from refimpl.layers.linear import linear


def cube(x, params):
    return x * x * x * params["a"], None


ARGS = (np.array([1.0, 2.0]), {"a": np.array([3.0])})
DY = [np.array([1.0, 10.0])]


def test_autograd_differentiates_the_forward_only():
    dx, da = autograd_gradients(cube, ARGS, {}, {}, DY)
    assert dx.tolist() == [9.0, 360.0]
    assert da.tolist() == [81.0]


def test_autograd_refuses_to_report_a_silent_zero():
    with pytest.raises(UserWarning, match="independent of input"):
        autograd_gradients(lambda x: (np.ones(2), None), (np.array([1.0, 2.0]),), {}, {}, DY)


def test_complex_step_gives_the_derivative_along_each_direction():
    products = complex_step_products(cube, ARGS, {}, {}, DY, np.random.default_rng(0))
    (dx_directions, dx_products), (da_directions, da_products) = products
    eps = np.finfo(np.float64).eps
    expected = dx_directions @ np.array([9.0, 360.0])
    # Two products and a sum of two terms: a handful of roundings relative to the terms themselves.
    assert np.all(np.abs(dx_products - expected) <= 8 * eps * (np.abs(dx_directions) @ np.array([9.0, 360.0])))
    assert np.all(np.abs(da_products - 81.0 * da_directions[:, 0]) <= 8 * eps * 81.0 * np.abs(da_directions[:, 0]))


def test_complex_step_does_not_disturb_the_value():
    x = np.array([[1.0, -2.0]])
    weight = np.array([[0.3, 0.7]])
    y, _ = linear(x + 1j * STEP, {"weight": weight + 0j})
    assert np.real(y).tolist() == linear(x, {"weight": weight})[0].tolist()


def test_complex_step_skips_integer_arguments():
    def pick(ids, params):
        return params["weight"][ids], None

    ids, table = np.array([1, 1]), np.array([5.0, 6.0])
    ((directions, products),) = complex_step_products(
        pick, (ids, {"weight": table}), {}, {}, [np.array([1.0, 1.0])], np.random.default_rng(0)
    )
    assert np.array_equal(products, 2 * directions[:, 1])


def test_autograd_in_extended_precision_leaves_a_thousandth_of_a_sigma():
    case = all_cases()["layer_norm"]
    truth = find_truth(case, case.configs[0], "float64", seed=0)
    args, dy = truth.inputs.args, truth.cotangents
    found = autograd_gradients(case.reference, args, {}, {}, dy, extended=True)
    for gradient, expected in zip(found, truth.gradients.values(), strict=True):
        # Only the rounding of the result to float64 is left: at most half a unit in the last place.
        assert np.all(np.abs(gradient - expected.value) <= 2.0**-53 * np.abs(expected.value) * (1 + 2.0**-9))


def test_autograd_without_an_extended_erf_falls_back_to_float64():
    x = np.array([0.3, -1.2])
    (extended,) = autograd_gradients(gelu, (x,), {}, {}, [np.ones(2)], extended=True)
    (plain,) = autograd_gradients(gelu, (x,), {}, {}, [np.ones(2)])
    assert extended.tolist() == plain.tolist()
