"""Every case's reference runs on every kind of array: same text, forward and pullback."""

import numpy as np
import pytest

from compare.cases.registry import all_cases
from compare.interpretations import cost, strict_device
from compare.measure.truth import draw_inputs, find_truth
from compare.peers.tree import leaves, map_arrays

SMALL = [
    (case.name, config.name)
    for case in all_cases().values()
    for config in case.configs
    if config.profile == "quick" and not config.measured and not case.name.startswith("minilm")
]

# The adaptive softmax computes the rows of each cluster and no others: how many these are depends on the targets.
BY_VALUE = ("adaptive_cross_entropy", "transformer_xl_loss", "transformer_xl_segments", "transformer_xl_through_memory")


def run_on(lift, case, config, seed=0):
    inputs, _ = draw_inputs(case, config, "float64", seed)
    cotangents = find_truth(case, config, "float64", seed).cotangents
    args, masks = (map_arrays(lift, tree) for tree in (inputs.args, dict(inputs.masks)))
    y, pullback = case.reference(*args, **masks, **config.settings)
    dy = [lift(d) for d in cotangents]
    return leaves((y, pullback(tuple(dy) if isinstance(y, tuple) else dy[0])))


@pytest.mark.parametrize(("name", "config"), SMALL)
def test_a_strict_device_computes_what_numpy_computes(name, config):
    case = all_cases()[name]
    config = case.config_named(config)
    on_host = run_on(np.asarray, case, config)
    on_device = run_on(strict_device.asarray, case, config)
    for host, device in zip(on_host, on_device, strict=True):
        assert np.asarray(host).tobytes() == strict_device.asnumpy(device).tobytes()


@pytest.mark.parametrize(("name", "config"), [pair for pair in SMALL if pair[0] not in BY_VALUE])
def test_shape_only_arrays_predict_every_shape_and_dtype(name, config):
    case = all_cases()[name]
    config = case.config_named(config)
    computed = run_on(np.asarray, case, config)
    with cost.tracking() as tracker:
        predicted = run_on(cost.lift, case, config)
        for real, shape_only in zip(computed, predicted, strict=True):
            assert shape_only.shape == np.shape(real)
            assert shape_only.dtype == np.asarray(real).dtype
    assert tracker.bytes_moved > 0


@pytest.mark.parametrize("name", BY_VALUE)
def test_what_sorts_rows_by_value_says_that_it_has_no_shape_of_its_own(name):
    case = all_cases()[name]
    with cost.tracking(), pytest.raises(TypeError, match="depends on values"):
        run_on(cost.lift, case, case.configs[0])
