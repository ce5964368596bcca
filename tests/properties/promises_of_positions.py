"""What positions promise.  Each check raises AssertionError where it does not hold."""

from dataclasses import replace

import numpy as np

from compare.interpretations.spread import spread
from refimpl.arrays import array_namespace
from tests.properties.rounding import assert_close, spread_run


def _without_factor(call):
    """The scaling of YaRN stretches, all others turn only."""
    scaling = call.settings["scaling"]
    return replace(scaling, attention_factor=1.0) if hasattr(scaling, "attention_factor") else scaling


def _turning(call):
    return replace(call, settings=call.settings | {"scaling": _without_factor(call)})


def _moved(settings, shift):
    if "positions" in settings:
        return settings | {"positions": settings["positions"] + shift}
    return settings | {"offset": settings["offset"] + shift}


def products_depend_on_the_distance_alone(component, call):
    """Rotary: moving queries and keys by the same number of positions leaves every product where it was."""
    scaling = call.settings["scaling"]
    if type(scaling).__name__ == "DynamicNtkScaling":
        return  # its frequencies depend on the length
    moved = replace(call, settings=_moved(call.settings, 17))
    lifted = moved.map_arrays(lambda x: spread(x, np.float64 if x.dtype.kind == "f" else x.dtype))
    sigma = _products(component, lifted).sigma
    assert_close(_products(component, moved), _products(component, call), sigma, name="products")


def _products(component, call):
    """Queries and keys are the same vectors, in reverse order."""
    xp = array_namespace(call.arrays["x"])
    x = call.arrays["x"]
    q, k = (component.function(part, **call.settings)[0] for part in (x, x[..., ::-1, :]))
    return xp.matmul(q, xp.swapaxes(k, -1, -2))


def lengths_stay(component, call):
    """Rotary: turning changes no length."""
    call = _turning(call)
    x, d = call.arrays["x"], call.settings["d_rotary"]
    y, _ = component(call)
    sigma = spread_run(component, call)[0]["y"].sigma
    lengths, want = (np.sum(a[..., :d] * a[..., :d], axis=-1) for a in (y, x))
    # d (y²) = 2 y dy, and the sums round d times themselves.
    allowed = np.sum(2 * np.abs(y[..., :d]) * sigma[..., :d], axis=-1) + d * np.finfo(np.float64).eps * want
    assert_close(lengths, want, allowed, name="length")


def the_pullback_turns_back(component, call):
    """Rotary: the pullback of y is x."""
    call = _turning(call)
    y, pullback = component(call)
    (x,) = pullback(y)
    sigma = spread_run(component, call)[0]["y"].sigma
    assert_close(x, call.arrays["x"], 2 * np.max(sigma, axis=-1, keepdims=True) + 0.0 * x, name="x")


def layouts_are_permutations(component, call):
    """Rotary: permuting features, turning in the other layout and permuting back is the same, bit for bit."""
    d = call.settings["d_rotary"]
    x = call.arrays["x"]
    side_by_side = np.arange(x.shape[-1])
    side_by_side[:d] = np.arange(d).reshape(2, d // 2).T.ravel()  # 0, d/2, 1, d/2 + 1, ...
    half = replace(call, settings=call.settings | {"layout": "half"})
    interleaved = replace(call, settings=call.settings | {"layout": "interleaved"}, arrays={"x": x[..., side_by_side]})
    np.testing.assert_array_equal(component(interleaved)[0], component(half)[0][..., side_by_side])


def a_part_is_a_part_of_the_whole(component, call):
    """Rotary, sinusoidal: while decoding, the last vector at its offset gives what it gives in the sequence."""
    x, n_seq = call.arrays["x"], call.arrays["x"].shape[-2]
    if "positions" in call.settings:
        return
    whole, _ = component(call)
    offset = call.settings["offset"] + n_seq - 1
    last = replace(call, arrays={"x": x[..., -1:, :]}, settings=call.settings | {"offset": offset})
    np.testing.assert_array_equal(component(last)[0], whole[..., -1:, :])


def given_positions_are_looked_up(component, call):
    """Rotary, sinusoidal: counting from an offset is the same as giving these positions."""
    if "positions" in call.settings:
        return
    offset, n_seq = call.settings["offset"], call.arrays["x"].shape[-2]
    given = {"offset": 0, "positions": np.arange(offset, offset + n_seq)}
    np.testing.assert_array_equal(component(replace(call, settings=call.settings | given))[0], component(call)[0])


def bias_depends_on_the_distance_alone(component, call):
    """Buckets: along every diagonal the bias is one number."""
    y, _ = component(call)
    np.testing.assert_array_equal(y[:, 1:, 1:], y[:, :-1, :-1])


def far_keys_share_the_last_bucket(component, call):
    """Buckets: from the largest distance on, nothing changes."""
    far = call.settings["max_distance"]
    y, _ = component(replace(call, settings=call.settings | {"n_query": 1, "n_key": far + 5}))
    np.testing.assert_array_equal(y[:, 0, :5], np.tile(y[:, 0, :1], 5))


def near_keys_have_a_bucket_each(component, call):
    """Buckets: the first half of a side is one by one."""
    weight = call.params["weight"]
    n_side = weight.shape[0] // 2 if call.settings["bidirectional"] else weight.shape[0]
    n_near = n_side // 2
    y, _ = component(replace(call, settings=call.settings | {"n_query": 1, "n_key": n_near}))
    np.testing.assert_array_equal(y[:, 0, ::-1], weight[:n_near].T)


def gradient_of_a_bucket_counts_its_pairs(component, call):
    """Buckets: with a gradient of ones the whole table gets as many as there are pairs."""
    y, pullback = component(call)
    ((_, dweight),) = pullback(np.ones_like(y))[0].items()
    np.testing.assert_array_equal(np.sum(dweight, axis=0), np.full(y.shape[0], y[0].size))


def rows_of_no_pair_have_no_gradient(component, call):
    """Shaw: distances that do not occur are not trained."""
    y, pullback = component(call)
    n_query, n_key = call.arrays["q"].shape[-2], call.arrays["k"].shape[-2]
    reach = call.params["relative_key.weight"].shape[0] // 2
    ahead = np.arange(n_key)[None, :] - np.arange(n_key - n_query, n_key)[:, None]
    unused = ~np.isin(np.arange(-reach, reach + 1), np.clip(ahead, -reach, reach))
    for key, gradient in pullback(np.ones_like(y))[-1].items():
        np.testing.assert_array_equal(gradient[unused], 0.0, err_msg=key)


def a_constant_table_stays_constant(component, call):
    """Extension: positions that are all alike stay so; shares that sum to 1 round three times."""
    weight = np.zeros_like(call.arrays["weight"]) + 0.75
    y, _ = component(replace(call, arrays={"weight": weight}))
    assert y.shape == (call.settings["n_position"], weight.shape[1])
    assert np.all(np.abs(y - 0.75) <= 3 * np.finfo(np.float64).eps)


def the_learned_ones_are_kept(component, call):
    """Extension by mean or tiling: the learned positions stay where they were."""
    weight = call.arrays["weight"]
    np.testing.assert_array_equal(component(call)[0][: len(weight)], weight)


def gradients_share_out_all_of_it(component, call):
    """Extension: every new position is a mean of learned ones, so no gradient is lost and none is made."""
    y, pullback = component(call)
    dy = np.round(np.random.default_rng(call.seed).normal(size=y.shape) * 64.0) / 64.0
    (dweight,) = pullback(dy)
    n = len(y) + len(dweight)
    allowed = n * np.finfo(np.float64).eps * np.sum(np.abs(dy), axis=0)
    assert np.all(np.abs(np.sum(dweight, axis=0) - np.sum(dy, axis=0)) <= allowed)
