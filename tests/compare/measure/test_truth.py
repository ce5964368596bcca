"""The truth must be the right number, and its sigma the size of real rounding errors."""

import mpmath
import numpy as np
import pytest

from compare.cases.case import Case, Config, Inputs
from compare.cases.registry import all_cases
from compare.measure.truth import DTYPES, along, draw_inputs, find_truth, positional_names, rounded_to
from compare.run.row import judge_config
from compare.verdict.spread_rule import judge
from refimpl.attention.dot_product import attention
from refimpl.layers.gelu import gelu
from refimpl.layers.layer_norm import layer_norm


def case_of(reference, inputs, settings=None):
    config = Config("only", {}, settings or {})
    return Case("probe", "layers", "Probe", reference, inputs, (config,), {}), config


def test_inputs_are_exact_in_the_dtype_and_repeat():
    case = all_cases()["layer_norm"]
    for dtype in DTYPES:
        first, _ = draw_inputs(case, case.configs[0], dtype, seed=3)
        second, _ = draw_inputs(case, case.configs[0], dtype, seed=3)
        other, _ = draw_inputs(case, case.configs[0], dtype, seed=4)
        x = first.args[0]
        assert np.array_equal(x, x.astype(DTYPES[dtype]).astype(np.float64))
        assert np.array_equal(x, second.args[0])
        assert not np.array_equal(x, other.args[0])


def test_rounding_leaves_integers_alone():
    assert rounded_to(np.array([300]), "bfloat16").tolist() == [300]
    assert rounded_to(np.array([257.0]), "bfloat16").tolist() == [256.0]


def test_positional_names_stop_at_the_settings():
    assert positional_names(layer_norm) == ["x", "params"]
    assert positional_names(attention) == ["q", "k", "v", "bias"]


def mp(values):
    return [mpmath.mpf(float(v)) for v in np.ravel(values)]


@pytest.mark.parametrize("spot", range(4))
def test_extended_truth_of_layer_norm_against_mpmath(spot):
    case = all_cases()["layer_norm"]
    config = case.config_named("rank2")
    truth = find_truth(case, config, "float64", seed=spot)
    (x, params), eps = truth.inputs.args, config.settings.get("eps", 1e-5)
    with mpmath.workdps(50):
        row = mp(x[spot])
        mean = mpmath.fsum(row) / len(row)
        variance = mpmath.fsum((v - mean) ** 2 for v in row) / len(row)
        expected = (row[2] - mean) / mpmath.sqrt(variance + mpmath.mpf(eps)) * mpmath.mpf(params["weight"][2])
        expected += mpmath.mpf(params["bias"][2])
        error = abs(mpmath.mpf(str(truth.outputs["y"].value[spot, 2])) - expected)
        # The truth is longdouble: its error must be far below float64's sigma (2^-64 against 2^-53).
        assert error < float(truth.outputs["y"].sigma[spot, 2]) / 500


def test_extended_truth_of_gelu_and_its_gradient_against_mpmath():
    case, config = case_of(gelu, lambda generator: Inputs((generator.standard_normal(20) * 3,)))
    truth = find_truth(case, config, "float64", seed=0)
    x, dy = truth.inputs.args[0], truth.cotangents[0]
    with mpmath.workdps(50):
        for i, v in enumerate(mp(x)):
            below = (1 + mpmath.erf(v / mpmath.sqrt(2))) / 2
            slope = below + v * mpmath.npdf(v)
            y_error = abs(mpmath.mpf(str(truth.outputs["y"].value[i])) - v * below)
            dx_error = abs(mpmath.mpf(str(truth.gradients["x"].value[i])) - slope * mpmath.mpf(dy[i]))
            # sqrt(1/2) is a Python float in the text: a legal rounding, which sigma counts.
            assert y_error < 3 * float(truth.outputs["y"].sigma[i])
            assert dx_error < 3 * float(truth.gradients["x"].sigma[i])


def test_extended_truth_of_attention_against_mpmath():
    def inputs(generator):
        return Inputs(tuple(generator.standard_normal(shape) for shape in ((2, 3), (4, 3), (4, 5))))

    case, config = case_of(attention, inputs)
    truth = find_truth(case, config, "float64", seed=0)
    q, k, v = truth.inputs.args
    with mpmath.workdps(50):
        for i in range(2):
            scores = [mpmath.fdot(mp(q[i]), mp(key)) / mpmath.sqrt(3) for key in k]
            weights = [mpmath.exp(s) for s in scores]
            for j in range(5):
                expected = mpmath.fdot(weights, mp(v[:, j])) / mpmath.fsum(weights)
                error = abs(mpmath.mpf(str(truth.outputs["y"].value[i, j])) - expected)
                # 1 / sqrt(3) is a Python float in the text: a legal rounding that sigma counts, once.
                assert error < 3 * float(truth.outputs["y"].sigma[i, j])


def test_sigma_has_the_size_of_real_errors():
    """Root mean square of error over sigma, over all cases in float32: neither blind nor too strict."""
    ratios = []
    for case in all_cases().values():
        if case.section != "layers" or "float32" not in case.dtypes:
            continue
        for config in case.configs:
            if config.measured:
                continue
            (row, *_) = judge_config(case, config, "float32")
            ratios += [figure["sigma_max"] for figure in row["gradients"]["reference"].values()]
    ratios = np.array(ratios)
    assert ratios.max() <= 5, "an honest float32 run comes near the limit"
    assert np.median(ratios) >= 0.5, "sigma is far larger than honest errors: the rule has become blind"


def test_inner_products_along_directions_carry_their_own_tolerance():
    case = all_cases()["layer_norm"]
    truth = find_truth(case, case.configs[0], "float64", seed=0)
    directions = np.random.default_rng(0).standard_normal((3, *truth.inputs.args[0].shape))
    right = np.einsum("nij,ij->n", directions, truth.gradients["x"].value.astype(np.float64))
    assert judge(right, along(truth, "x", directions))["passed"]
    assert not judge(right * (1 + 1e-12), along(truth, "x", directions))["passed"]
