"""Decoding with a cache equals computing the whole text: for every split into chunks, and for padded batches."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from compare import strategies
from compare.cases.bug import rewritten
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.cache.paged import append_pages, empty_pages, gather_pages
from refimpl.attention.cache.rows import next_positions
from refimpl.attention.grouped.layer import grouped_query_decode, grouped_query_self_attention
from refimpl.attention.latent.layer import absorbed_latent_attention, latent_attention, latent_decode
from refimpl.attention.mask import causal_mask
from refimpl.attention.sinks import streaming_mask
from tests.properties import draw_grouped
from tests.properties.component import cast
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, assert_close, spread_run

LAYERS = {
    grouped_query_self_attention: (grouped_query_decode, draw_grouped.grouped_query_layer_calls()),
    latent_attention: (latent_decode, draw_grouped.latent_calls()),
}


def empty(function, call, **settings):
    """A cache for the layer of a call."""
    x, params = call.arrays["x"], call.params
    if function is latent_attention:
        return empty_cache(x.shape[0], 1, len(params["kv_a_proj_with_mqa.weight"]), like=x, d_value=0, **settings)
    n_kv_head = call.settings["n_kv_head"]
    return empty_cache(x.shape[0], n_kv_head, len(params["k_proj.weight"]) // n_kv_head, like=x, **settings)


def in_chunks(decode, x, params, past, bounds, **settings):
    """Decode a text chunk by chunk."""
    outputs = []
    for start, stop in itertools.pairwise([0, *bounds, x.shape[1]]):
        y, past = decode(x[:, start:stop], params, past, **settings)
        outputs.append(y)
    return np.concatenate(outputs, axis=1)


def whole(function, call, mask):
    """Outputs of the whole text, and how far rounding may take them."""
    call.settings["mask"] = mask
    component = component_of(function)
    return component(call)[0], spread_run(component, call)[0]["y"].sigma


def settings_of(call):
    return {name: value for name, value in call.settings.items() if name != "mask"}


def every_split(function, decode, call):
    """Cut the text in every way into chunks, and decode it chunk by chunk."""
    n_seq = call.arrays["x"].shape[1]
    want, sigma = whole(function, call, causal_mask(n_seq, n_seq, like=call.arrays["x"]))
    for n in range(n_seq):
        for bounds in itertools.combinations(range(1, n_seq), n):
            y = in_chunks(decode, call.arrays["x"], call.params, empty(function, call), bounds, **settings_of(call))
            assert_close(y, want, sigma, name=f"split at {bounds}")


@pytest.mark.parametrize("function", LAYERS, ids=lambda f: f.__name__)
@given(data=st.data())
def test_every_split_into_chunks_gives_what_the_whole_gives(function, data):
    decode, calls = LAYERS[function]
    every_split(function, decode, data.draw(calls))


WITHOUT_OFFSET = rewritten(next_positions, "n_seen[:, None] + xp.arange", "0 * n_seen[:, None] + xp.arange")
WRONG = {
    "offset lost": (grouped_query_self_attention, {"next_positions": WITHOUT_OFFSET}),
    "keys not rotated": (
        grouped_query_self_attention,
        {"old": 'scope(params, "k_proj."), n_kv_head, rotate, angles', "new": 'scope(params, "k_proj."), n_kv_head'},
    ),
    "keys read as values": (
        grouped_query_self_attention,
        {"old": "q, grown.k, grown.v", "new": "q, grown.k, grown.k"},
    ),
    "the latent's offset lost": (latent_attention, {"next_positions": WITHOUT_OFFSET}),
    "the latent's scale is that of the wide query": (
        latent_attention,
        {"old": "1.0 / math.sqrt(d_nope + d_rope) if", "new": "1.0 / math.sqrt(wide_q.shape[-1]) if"},
    ),
    "the rotated key is part of the value": (
        latent_attention,
        {"old": "grown.k[..., : latent.shape[-1]]", "new": "grown.k[..., -latent.shape[-1] :]"},
    ),
}


@pytest.mark.parametrize("bug", WRONG)
def test_wrong_decoding_is_rejected(bug):
    function, edit = WRONG[bug]
    decode, calls = LAYERS[function]
    wrong = rewritten(decode, **edit)

    @settings(phases=[Phase.generate], max_examples=100)
    @given(calls)
    def examples(call):
        every_split(function, wrong, call)

    with pytest.raises(AssertionError):
        examples()


@pytest.mark.parametrize("function", LAYERS, ids=lambda f: f.__name__)
@given(data=st.data())
def test_decoding_with_a_window_and_sinks_is_the_streaming_mask(function, data):
    decode, calls = LAYERS[function]
    call = data.draw(calls)
    window, n_sink = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 2))
    x = call.arrays["x"]
    n_seq = x.shape[1]
    mask = streaming_mask(n_seq, n_seq, window=window, n_sink=n_sink, like=x)
    want, sigma = whole(function, call, mask)
    past = empty(function, call, window=window, n_sink=n_sink)
    y = in_chunks(decode, x, call.params, past, range(1, n_seq), **settings_of(call))
    assert_close(y, want, sigma, name="y")


@pytest.mark.parametrize("function", LAYERS, ids=lambda f: f.__name__)
@given(data=st.data())
def test_padding_on_the_left_changes_nothing(function, data):
    """Rows of unequal length, padded on the left with anything, give what each gives alone."""
    decode, calls = LAYERS[function]
    call = data.draw(calls)
    x = call.arrays["x"]
    n_batch, n_seq, _ = x.shape
    lengths = np.array(data.draw(st.lists(st.integers(0, n_seq), min_size=n_batch, max_size=n_batch)))
    is_token = np.arange(n_seq)[None, :] >= n_seq - lengths[:, None]
    junk = data.draw(strategies.floating(x.shape))
    y, past = decode(
        np.where(is_token[..., None], x, junk),
        call.params,
        empty(function, call),
        is_token=is_token,
        **settings_of(call),
    )
    next_y, _ = decode(x[:, :1], call.params, past, **settings_of(call))
    for i, n in enumerate(lengths):
        text = np.concatenate([x[i : i + 1, n_seq - n :], x[i : i + 1, :1]], axis=1)
        call.arrays["x"] = text
        want, sigma = whole(function, call, causal_mask(n + 1, n + 1, like=x))
        got = np.concatenate([y[i, n_seq - n :], next_y[i]], axis=0)
        assert_close(got, want[0], sigma[0], name=f"row {i}")


@given(draw_grouped.grouped_query_layer_calls(), st.integers(1, 3))
def test_pages_hold_what_decoding_needs(call, n_slot):
    """Keys and values that decoding made, kept in pages and gathered again."""
    x = call.arrays["x"]
    n_batch, n_seq, _ = x.shape
    want, sigma = whole(grouped_query_self_attention, call, causal_mask(n_seq, n_seq, like=x))
    start = empty(grouped_query_self_attention, call)
    pages = empty_pages(n_batch, start.k.shape[1], start.k.shape[3], like=x, n_slot=n_slot)
    for t in range(n_seq):
        here = x[:, t : t + 1]
        y, grown = grouped_query_decode(here, call.params, gather_pages(pages), **settings_of(call))
        pages = append_pages(pages, grown.k[:, :, -1:], grown.v[:, :, -1:])
        assert_close(y, want[:, t : t + 1], sigma[:, t : t + 1], name=f"position {t}")


@given(draw_grouped.latent_calls())
def test_absorbed_latent_attention_is_latent_attention(call):
    """Outputs and all gradients, but for the rounding of both."""
    straight, absorbed = component_of(latent_attention), component_of(absorbed_latent_attention)
    y, gradients = straight.run(call)
    other_y, other_gradients = absorbed.run(call)
    y_spread, gradient_spreads = spread_run(straight, call)
    other_y_spread, other_spreads = spread_run(absorbed, call)
    assert_all_close(
        y | gradients, other_y | other_gradients, _sums(y_spread | gradient_spreads, other_y_spread | other_spreads)
    )


def _sums(one, other):
    """The sum of two standard deviations, by name."""
    return {name: SimpleNamespace(sigma=one[name].sigma + other[name].sigma) for name in one}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("function", LAYERS, ids=lambda f: f.__name__)
@given(data=st.data())
def test_decoding_keeps_the_dtype_and_its_rounding(function, dtype, data):
    """Keys and values are stored in the dtype as the whole text has them, so nothing more is rounded."""
    decode, calls = LAYERS[function]
    call = data.draw(calls).map_leaves(lambda x: cast(x, dtype))
    x = call.arrays["x"]
    n_seq = x.shape[1]
    call.settings["mask"] = causal_mask(n_seq, n_seq, like=x)
    spread = spread_run(component_of(function), call, np.dtype(x.dtype))[0]["y"]
    y = in_chunks(decode, x, call.params, empty(function, call), range(1, n_seq), **settings_of(call))
    assert y.dtype == x.dtype
    # Absorbed, latent attention stores other intermediate results in 16 bits.
    of_same_text = function if function is not latent_attention else absorbed_latent_attention
    sigma = spread.sigma + spread_run(component_of(of_same_text), call, np.dtype(x.dtype))[0]["y"].sigma
    assert_close(y, spread.value, sigma, name="y", n_rounded=1)
