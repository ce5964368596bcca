"""What norms, gates and losses promise.  Each check raises AssertionError where it does not hold."""

import math
from dataclasses import replace

import numpy as np

from tests.properties.rounding import assert_close, spread_run

EPS = np.finfo(np.float64).eps


def blind_to_the_length(component, call):
    """RMS norm: without eps, doubling x changes nothing and halves its gradient, bit for bit."""
    call = replace(call, settings=call.settings | {"eps": 0.0})
    doubled = replace(call, arrays={"x": 2.0 * call.arrays["x"]})
    (y, gradients), (y_doubled, gradients_doubled) = component.run(call), component.run(doubled)
    np.testing.assert_array_equal(y_doubled["y"], y["y"])
    np.testing.assert_array_equal(2.0 * gradients_doubled["x"], gradients["x"])


def gradients_have_no_part_along_x(component, call):
    """RMS norm: without eps, stretching x moves nothing."""
    call = replace(call, settings=call.settings | {"eps": 0.0})
    gradient, x = component.run(call)[1]["x"], call.arrays["x"]
    sigma = np.sum(np.abs(x) * spread_run(component, call)[1]["x"].sigma, axis=-1)
    assert_close(np.sum(gradient * x, axis=-1), np.zeros(x.shape[:-1]), sigma, name="along x", n_rounded=1)


def the_offset_belongs_to_the_weight(component, call):
    """RMS norm: weight and offset count by their sum."""
    if not call.params:
        return
    folded = {"weight": call.params["weight"] + call.settings["weight_offset"]}
    bare = replace(call, params=folded, settings=call.settings | {"weight_offset": 0.0})
    np.testing.assert_array_equal(component(bare)[0], component(call)[0])


def linear_in_the_value(component, call):
    """Gated units: doubling the half that is no gate doubles the output, bit for bit."""
    x = call.arrays["x"]
    half = x.shape[-1] // 2
    value = np.arange(2 * half) >= half if call.settings["gate"] == "first" else np.arange(2 * half) < half
    doubled = replace(call, arrays={"x": np.where(value, 2.0 * x, x)})
    np.testing.assert_array_equal(component(doubled)[0], 2.0 * component(call)[0])


def between_the_maximum_and_log_n_more(component, call):
    """Log-sum-exp: a smooth maximum."""
    x, axis = call.arrays["x"], call.settings["axis"]
    y, _ = component(call)
    highest = np.max(x, axis=axis)
    slack = 8 * EPS * (1.0 + np.abs(highest))
    assert np.all(y >= highest - slack)
    assert np.all(y <= highest + math.log(x.shape[axis]) + slack)


def gradient_is_shared_out(component, call):
    """Log-sum-exp: what goes out is what came in, in positive shares."""
    y, pullback = component(call)
    (dx,) = pullback(np.ones_like(y))
    assert np.all(dx >= 0.0)
    n = call.arrays["x"].shape[call.settings["axis"]]
    assert np.all(np.abs(np.sum(dx, axis=call.settings["axis"]) - 1.0) <= 4 * (n + 1) * EPS)


def odd_and_even_parts(component, call):
    """SiLU: x sigmoid(x) + x sigmoid(-x) is x."""
    x = call.arrays["x"]
    sigma = np.sqrt(sum(spread_run(component, replace(call, arrays={"x": s * x}))[0]["y"].sigma ** 2 for s in (1, -1)))
    other = component(replace(call, arrays={"x": -x}))[0]
    assert_close(component(call)[0] - other, x, sigma + EPS * np.abs(x), name="x", n_rounded=1)


def losses_of_targets_are_weighed(component, call):
    """Cross-entropy: without smoothing, a target's loss and gradient count as much as its class."""
    weight = call.settings["class_weight"] or tuple(0.5 + 0.25 * i for i in range(call.arrays["logits"].shape[-1]))
    settings = {"class_weight": weight, "label_smoothing": 0.0, "reduction": "none"}
    call = replace(call, settings=call.settings | settings)
    plain = replace(call, settings=call.settings | {"class_weight": None})
    ignored = call.arrays["targets"] == call.settings["ignore_index"]
    of_target = np.array(weight)[np.where(ignored, 0, call.arrays["targets"])]
    (y, _), (y_plain, _) = component(call), component(plain)
    assert_close(y, y_plain * of_target, spread_run(component, plain)[0]["y"].sigma * of_target, name="y")


def the_mean_is_a_weighted_mean(component, call):
    """Cross-entropy: the mean times the weights of the counted targets is the sum."""
    targets, ignore_index = call.arrays["targets"], call.settings["ignore_index"]
    weight = call.settings["class_weight"] or (1.0,) * call.arrays["logits"].shape[-1]
    counted = targets != ignore_index
    total = math.fsum(np.array(weight)[targets[counted]])
    mean, by_sum = (replace(call, settings=call.settings | {"reduction": name}) for name in ("mean", "sum"))
    sigma = spread_run(component, by_sum)[0]["y"].sigma
    want = component(by_sum)[0]
    if total == 0.0 and np.any(counted):
        return  # smoothing may leave a loss where targets have no weight; then the sum is the mean
    slack = targets.size * EPS * np.abs(want)
    assert_close(component(mean)[0] * max(total, 0.0), want, sigma + slack, name="sum")


def the_z_loss_is_added(component, call):
    """Cross-entropy: the z-loss is its part, and twice of it twice that part."""
    call = replace(call, settings=call.settings | {"reduction": "sum"})
    runs = [replace(call, settings=call.settings | {"z_loss": z}) for z in (0.0, 0.5, 1.0)]
    none, half, whole = (component(run)[0] for run in runs)
    sigma = 2.0 * spread_run(component, runs[2])[0]["y"].sigma + 4 * EPS * np.abs(whole)
    assert_close(whole - half, half - none, sigma, name="z-loss")
    assert whole >= none
