"""Where attention has little or nothing to do: values, gradients, and that derivative oracles agree there too."""

import numpy as np
import pytest

from refimpl.attention.dot_product import attention
from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.grouped.layer import grouped_query_self_attention
from refimpl.attention.latent.layer import absorbed_latent_attention, latent_attention
from refimpl.attention.linear.attention import causal_linear_attention, linear_attention
from refimpl.attention.linear.recurrent import recurrent_linear_attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.multi_head import multi_head_attention, self_attention
from refimpl.attention.sinks import sink_attention
from tests.properties import checks
from tests.properties.component import Call
from tests.properties.registry import component_of

N_BATCH, N_HEAD, N_KV_HEAD = 3, 4, 2
HEADS = {
    attention: N_HEAD,
    grouped_query_attention: N_KV_HEAD,
    sink_attention: N_KV_HEAD,
    linear_attention: N_HEAD,
    causal_linear_attention: N_HEAD,
}
SOFTMAX = (attention, grouped_query_attention, sink_attention)
for_heads = pytest.mark.parametrize("function", HEADS, ids=lambda f: f.__name__)
for_softmax = pytest.mark.parametrize("function", SOFTMAX, ids=lambda f: f.__name__)


def heads_call(function, *, n_query, n_key, d_head=3, d_value=5, **settings):
    generator = np.random.default_rng(11)
    n_kv_head = HEADS[function]
    arrays = {
        "q": generator.standard_normal((N_BATCH, N_HEAD, n_query, d_head)),
        "k": generator.standard_normal((N_BATCH, n_kv_head, n_key, d_head)),
        "v": generator.standard_normal((N_BATCH, n_kv_head, n_key, d_value)),
    }
    if function is sink_attention:
        arrays["sink"] = generator.standard_normal((N_HEAD,))
    return Call(arrays, None, settings, 5)


def agree(function, call):
    """Run it, and hold its pullback against complex step and HIPS autograd."""
    component = component_of(function)
    y, gradients = component.run(call)
    for name, x in (y | gradients).items():
        assert np.all(np.isfinite(x)), name
    checks.adjoint_identity(component, call)
    checks.agrees_with_autograd(component, call)
    checks.shapes_and_dtypes(component, call)
    checks.within_the_spread(component, call)
    return y["y"] if "y" in y else y["y[0]"], gradients


@for_heads
def test_zero_keys_give_0(function):
    y, gradients = agree(function, heads_call(function, n_query=2, n_key=0))
    np.testing.assert_array_equal(y, np.zeros((N_BATCH, N_HEAD, 2, 5)))
    for gradient in gradients.values():
        np.testing.assert_array_equal(gradient, np.zeros(gradient.shape))


@for_heads
def test_zero_queries_ask_nothing(function):
    y, gradients = agree(function, heads_call(function, n_query=0, n_key=4))
    assert y.shape == (N_BATCH, N_HEAD, 0, 5)
    for gradient in gradients.values():
        np.testing.assert_array_equal(gradient, np.zeros(gradient.shape))


@for_heads
def test_one_query_and_many_keys(function):
    agree(function, heads_call(function, n_query=1, n_key=8))


@for_heads
def test_one_key_gives_its_value(function):
    call = heads_call(function, n_query=4, n_key=1)
    if function is causal_linear_attention:
        y, _ = agree(function, call)
        # The queries before the last stand before the one key.
        np.testing.assert_array_equal(y[:, :, :3], 0.0)
        y = y[:, :, 3:]
    else:
        y, gradients = agree(function, call)
        if function is not sink_attention:
            tiny = 64 * np.finfo(np.float64).eps * np.max(np.abs(call.arrays["v"]))
            # Whatever the query, the weight is 1: nothing moves it.
            assert np.max(np.abs(gradients["q"])) <= tiny
    value = np.repeat(call.arrays["v"], N_HEAD // HEADS[function], axis=1)
    if function is sink_attention:
        ratio = y / value
        assert np.all((ratio > 0.0) & (ratio < 1.0))
    else:
        # Divided by a sum of itself: a product and a quotient round.
        assert np.all(np.abs(y - value) <= 4 * np.finfo(np.float64).eps * np.abs(value))


@for_softmax
def test_more_queries_than_keys_leave_the_first_rows_empty(function):
    mask = causal_mask(7, 4, like=np.zeros(1))
    y, gradients = agree(function, heads_call(function, n_query=7, n_key=4, mask=mask))
    np.testing.assert_array_equal(y[:, :, :3], 0.0)
    np.testing.assert_array_equal(gradients["q"][:, :, :3], 0.0)
    assert np.all(np.any(y[:, :, 3:] != 0.0, axis=-1))


@for_heads
def test_size_1_heads(function):
    agree(function, heads_call(function, n_query=3, n_key=4, d_head=1, d_value=1))


@for_softmax
def test_fully_masked_rows_give_0_and_finite_gradients(function):
    mask = np.ones((N_BATCH, 1, 4, 5), bool)
    mask[1, 0, 2] = mask[2] = False
    y, gradients = agree(function, heads_call(function, n_query=4, n_key=5, mask=mask))
    for x in (y, gradients["q"]):
        np.testing.assert_array_equal(x[1, :, 2], 0.0)
        np.testing.assert_array_equal(x[2], 0.0)
    np.testing.assert_array_equal(gradients["v"][2], 0.0)


@for_heads
@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf])
def test_keys_that_nobody_sees_may_hold_anything(function, junk):
    hidden = np.array([False, True, False, False, True])
    name = "mask" if function in SOFTMAX else "is_token"
    call = heads_call(function, n_query=5, n_key=5, **{name: ~hidden[None] if name == "mask" else ~hidden})
    want, want_gradients = component_of(function).run(call)
    for array in ("k", "v"):
        call.arrays[array][..., hidden, :] = junk
    got, gradients = component_of(function).run(call)
    for key, x in (want | want_gradients).items():
        np.testing.assert_array_equal((got | gradients)[key], x, err_msg=key)
    for array in ("k", "v"):
        np.testing.assert_array_equal(gradients[array][..., hidden, :], 0.0)


@for_heads
def test_huge_inputs_leave_finite_gradients(function):
    """A12, for every kind of attention."""
    call = heads_call(function, n_query=3, n_key=4)
    for name in ("q", "k", "v"):
        call.arrays[name] = np.full(call.arrays[name].shape, 1e4)
    y, gradients = component_of(function).run(call)
    for x in (y | gradients).values():
        assert np.all(np.isfinite(x))


# --- layers ------------------------------------------------------------------------------------------------


def layer_params(function, d_head):
    generator = np.random.default_rng(13)
    if function in (self_attention, multi_head_attention):
        d_model = N_HEAD * d_head
        shapes = {
            "in_proj_weight": (3 * d_model, d_model),
            "out_proj.weight": (d_model, d_model),
            "out_proj.bias": (d_model,),
        }
        return d_model, {key: generator.standard_normal(shape) for key, shape in shapes.items()}
    from compare.cases.grouped_query_layer import layer_shapes
    from compare.cases.latent import latent_shapes

    if function is grouped_query_self_attention:
        shapes = layer_shapes(6, n_head=N_HEAD, n_kv_head=N_KV_HEAD, d_head=d_head)
    else:
        shapes = latent_shapes(6, n_head=N_HEAD, d_nope=d_head, d_rope=d_head, d_value=d_head, d_latent=5)
    return 6, {key: generator.standard_normal(shape) for key, shape in shapes.items()}


LAYERS = (self_attention, grouped_query_self_attention, latent_attention, absorbed_latent_attention)


def layer_call(function, *, n_seq, d_head=2, mask=None):
    d_model, params = layer_params(function, d_head)
    x = np.random.default_rng(17).standard_normal((N_BATCH, n_seq, d_model))
    settings = {"n_head": N_HEAD, "mask": mask}
    if function is grouped_query_self_attention:
        settings["n_kv_head"] = N_KV_HEAD
    return Call({"x": x}, params, settings, 5)


for_layers = pytest.mark.parametrize("function", LAYERS, ids=lambda f: f.__name__)


@for_layers
@pytest.mark.parametrize(("n_seq", "d_head"), [(0, 2), (1, 2), (3, 1)])
def test_layers_of_few_positions_or_size_1_heads(function, n_seq, d_head):
    y, gradients = agree(function, layer_call(function, n_seq=n_seq, d_head=d_head))
    assert y.shape == gradients["x"].shape


@for_layers
def test_fully_masked_rows_of_a_layer_leave_the_output_bias(function):
    """A2, for every layer."""
    mask = np.ones((N_BATCH, 1, 3, 3), bool)
    mask[1] = mask[0, 0, 1] = False
    call = layer_call(function, n_seq=3, mask=mask)
    y, _ = agree(function, call)
    bias = call.params.get("out_proj.bias", 0.0)
    np.testing.assert_array_equal(y[1], np.zeros(y[1].shape) + bias)
    np.testing.assert_array_equal(y[0, 1], np.zeros(y[0, 1].shape) + bias)


@pytest.mark.parametrize(("n_query", "n_key", "d_head"), [(2, 0, 3), (0, 2, 3), (1, 5, 3), (5, 1, 3), (3, 4, 1)])
def test_edges_of_multi_head_attention(n_query, n_key, d_head):
    d_model, params = layer_params(multi_head_attention, d_head)
    generator = np.random.default_rng(19)
    sizes = {"q": n_query, "k": n_key, "v": n_key}
    arrays = {name: generator.standard_normal((N_BATCH, n, d_model)) for name, n in sizes.items()}
    mask = causal_mask(n_query, n_key, like=arrays["q"])
    y, _ = agree(multi_head_attention, Call(arrays, params, {"n_head": N_HEAD, "mask": mask}, 5))
    empty = ~np.any(mask, axis=-1)
    np.testing.assert_array_equal(y[:, empty], np.zeros(y[:, empty].shape) + params["out_proj.bias"])


@pytest.mark.parametrize("n_seq", [0, 1])
def test_recurrent_attention_of_nothing_and_of_one(n_seq):
    generator = np.random.default_rng(23)
    sizes = {"q": (2, n_seq, 3), "k": (2, n_seq, 3), "v": (2, n_seq, 4), "memory": (2, 3, 4), "normaliser": (2, 3)}
    arrays = {name: np.abs(generator.standard_normal(shape)) for name, shape in sizes.items()}
    agree(recurrent_linear_attention, Call(arrays, None, {}, 5))
    del arrays["memory"], arrays["normaliser"]
    y, _ = agree(recurrent_linear_attention, Call(arrays, None, {}, 5))
    assert y.shape == (2, n_seq, 4)
