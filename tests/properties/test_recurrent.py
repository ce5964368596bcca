"""What only recurrent networks promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from refimpl.recurrent.gru import gru, gru_cell
from refimpl.recurrent.lstm import lstm, lstm_cell
from refimpl.recurrent.rnn import rnn, rnn_cell
from refimpl.recurrent.truncated import truncated
from tests.properties import draw_recurrent
from tests.properties.component import Call, cotangents, outputs
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, assert_close, spread_run

RUNS = {"rnn": (rnn, rnn_cell), "gru": (gru, gru_cell), "lstm": (lstm, lstm_cell)}
FEW = settings(max_examples=max(settings.get_profile(settings.get_current_profile_name()).max_examples // 4, 5))


def for_each_kind(check):
    """Run a check on many drawn calls of each of the three."""
    return pytest.mark.parametrize("kind", RUNS)(check)


def drawn(kind, check, wrong=None, **wanted):
    component = component_of(RUNS[kind][0])
    shown = component if wrong is None else replace(component, function=wrong)

    @FEW
    @given(draw_recurrent.sequence_calls(kind, **wanted))
    def examples(call):
        check(shown, call)

    examples()


def one_of(call, i):
    """The same call for sequence i alone, cut to its length."""
    length = int(call.settings["lengths"][i])
    arrays = {"x": call.arrays["x"][i : i + 1, :length]}
    arrays |= {name: state[:, i : i + 1] for name, state in call.arrays.items() if name != "x"}
    others = {name: value for name, value in call.settings.items() if name != "lengths"}
    if "keep" in others:
        others["keep"] = others["keep"][:, i : i + 1, :length]
    return Call(arrays, call.params, others, call.seed)


def each_sequence_stops_at_its_own_length(component, call):
    """A batch of sequences of different length gives what each gives alone; an empty one keeps its state."""
    if "lengths" not in call.settings:
        return
    y, *lasts = component(call)[0]
    spreads = [spread.sigma for spread in spread_run(component, call)[0].values()]
    for i, length in enumerate(call.settings["lengths"]):
        if length == 0:
            assert np.all(y[i] == 0.0)
            for last, name in zip(lasts, "hc", strict=False):
                np.testing.assert_array_equal(last[:, i], call.arrays[name][:, i])
            continue
        alone, *alone_lasts = component(one_of(call, i))[0]
        assert_close(y[i, :length], alone[0], spreads[0][i, :length], name="y")
        assert np.all(y[i, length:] == 0.0)
        for last, alone_last, sigma in zip(lasts, alone_lasts, spreads[1:], strict=True):
            assert_close(last[:, i], alone_last[:, 0], sigma[:, i], name="last state")


def padding_is_nothing(component, call):
    """NaN or inf beyond the ends change no output and no gradient, and get the gradient 0."""
    if "lengths" not in call.settings:
        return
    x = call.arrays["x"]
    beyond = np.arange(x.shape[1])[None, :] >= call.settings["lengths"][:, None]
    spoilt = np.where(beyond[..., None], np.where(x > 0.0, np.inf, np.nan), x)
    got = component.run(Call(call.arrays | {"x": spoilt}, call.params, call.settings, call.seed))
    want = component.run(call)
    for name, value in {**got[0], **got[1]}.items():
        np.testing.assert_array_equal(value, {**want[0], **want[1]}[name], err_msg=name)
    assert np.all(got[1]["x"][beyond] == 0.0)


def batch_order_is_nothing(component, call):
    """The batch is the first axis of x and y, and the second one of the states."""
    n_batch = call.arrays["x"].shape[0]
    order = np.random.default_rng(call.seed).permutation(n_batch)
    arrays = {name: x[order] if name == "x" else x[:, order] for name, x in call.arrays.items()}
    axes = {"lengths": 0, "keep": 1}
    permuted = {
        name: np.take(value, order, axis=axes[name]) if name in axes else value for name, value in call.settings.items()
    }
    y, _ = component(call)
    got, _ = component(Call(arrays, call.params, permuted, call.seed))
    spreads, _ = spread_run(component, call)
    want = outputs((y[0][order], *(last[:, order] for last in y[1:])))
    sigmas = {f"y[{i}]": np.take(spreads[f"y[{i}]"].sigma, order, axis=min(i, 1)) for i in range(len(y))}
    for name, value in outputs(got).items():
        assert_close(value, want[name], sigmas[name], name=name)


def reading_backwards_is_reading_what_is_turned_round(component, call):
    """The reverse half of a bidirectional layer, with the forward weights, reads the sequence from its end."""
    params = {key.replace("_reverse", ""): x for key, x in call.params.items() if "_reverse" in key}
    params |= {f"{key}_reverse": x for key, x in params.items()}
    arrays = {name: x if name == "x" else np.stack([x[1], x[1]]) for name, x in call.arrays.items()}
    both = Call(arrays, params, call.settings, call.seed)
    turned = Call({**arrays, "x": arrays["x"][:, ::-1]}, params, call.settings, call.seed)
    y, y_turned = component(both)[0][0], component(turned)[0][0]
    sigma = spread_run(component, both)[0]["y[0]"].sigma
    half = y.shape[-1] // 2
    assert_close(y[:, :, half:], y_turned[:, ::-1, :half], sigma[:, :, half:], name="reverse half")


def chunks_carry_on(component, call):
    """Two runs, the second from where the first has ended, are one run."""
    x = call.arrays["x"]
    cut = x.shape[1] // 2
    if not cut or "keep" in call.settings:
        return
    y, *lasts = component(call)[0]
    first, *between = component(Call(call.arrays | {"x": x[:, :cut]}, call.params, call.settings))[0]
    rest = {"x": x[:, cut:], **dict(zip("hc", between, strict=False))}
    second, *ends = component(Call(rest, call.params, call.settings))[0]
    sigmas = [spread.sigma for spread in spread_run(component, call)[0].values()]
    assert_close(np.concatenate([first, second], axis=1), y, sigmas[0], name="y")
    for end, last, sigma in zip(ends, lasts, sigmas[1:], strict=True):
        assert_close(end, last, sigma, name="last state")


def a_sequence_is_its_cell_again_and_again(component, call):
    """One layer is a loop over its cell, with the state handed on."""
    kind = "gru" if "reset" in call.settings else "lstm" if "c" in call.arrays else "rnn"
    _, cell = RUNS[kind]
    params = {key.removesuffix("_l0"): x for key, x in call.params.items()}
    own = {name: value for name, value in call.settings.items() if name in ("reset", "activation")}
    states, seen = tuple(x[0] for name, x in call.arrays.items() if name != "x"), []
    for t in range(call.arrays["x"].shape[1]):
        stepped, _ = cell(call.arrays["x"][:, t], *states, params, **own)
        states = stepped if isinstance(stepped, tuple) else (stepped,)
        seen.append(states[0])
    y, _ = component(call)
    assert_close(np.stack(seen, axis=1), y[0], spread_run(component, call)[0]["y[0]"].sigma, name="y")


def R2_two_biases_are_their_sum(component, call):
    """One bias, the sum of both, gives the same y, and each of two gets the gradient of the one."""
    if call.settings.get("reset") == "after":
        return
    merged = {}
    for key, x in call.params.items():
        if "bias" in key:
            name = key.replace("bias_hh", "bias_ih")
            merged[name] = merged[name] + x if name in merged else x
        else:
            merged[key] = x
    y, gradients = component.run(call)
    one = Call(call.arrays, merged, call.settings, call.seed)
    y_one, gradients_one = component.run(one)
    spreads, gradient_spreads = spread_run(component, one)
    assert_all_close(y_one, y, spreads)
    for name in gradients:
        if "bias" in name:
            other = name.replace("bias_hh", "bias_ih")
            assert_close(gradients[name], gradients_one[other], gradient_spreads[other].sigma, name=name)


@for_each_kind
def test_each_sequence_stops_at_its_own_length(kind):
    drawn(kind, each_sequence_stops_at_its_own_length)


@for_each_kind
def test_padding_is_nothing(kind):
    drawn(kind, padding_is_nothing)


@for_each_kind
def test_batch_order_is_nothing(kind):
    drawn(kind, batch_order_is_nothing)


@for_each_kind
def test_reading_backwards_is_reading_what_is_turned_round(kind):
    drawn(kind, reading_backwards_is_reading_what_is_turned_round, n_layer=1, n_direction=2, with_lengths=False)


@for_each_kind
def test_chunks_carry_on(kind):
    drawn(kind, chunks_carry_on, n_direction=1, with_lengths=False)


@for_each_kind
def test_a_sequence_is_its_cell_again_and_again(kind):
    drawn(kind, a_sequence_is_its_cell_again_and_again, n_layer=1, n_direction=1, with_lengths=False)


@for_each_kind
def test_R2_two_biases_are_their_sum(kind):
    drawn(kind, R2_two_biases_are_their_sum)


def truncate(run, cut=truncated):
    """Give `truncated` the call form of what it truncates."""

    def in_chunks(x, *rest, n_step, **others):
        *state, params = rest
        h, c = (*state, None)[:2]
        return cut(x, h, c, params, run=run, n_step=n_step, **others)

    return in_chunks


def one_chunk_is_the_full_gradient(component, call, cut=truncated):
    """Bit for bit: the same is computed in the same order."""
    run, n_seq = component.function, call.arrays["x"].shape[1]
    full = component.run(call)
    for n_step in (n_seq, n_seq + 3):
        given = Call(call.arrays, call.params, call.settings | {"n_step": n_step}, call.seed)
        got = replace(component, function=truncate(run, cut)).run(given)
        for name, value in {**got[0], **got[1]}.items():
            np.testing.assert_array_equal(value, {**full[0], **full[1]}[name], err_msg=name)


def gradients_stay_within_their_chunk(component, call, cut=truncated):
    """A gradient that enters at one position reaches no position of another chunk; the first state only its first."""
    in_chunks = truncate(component.function, cut)
    y, pullback = in_chunks(*call.arrays.values(), call.params, n_step=2, **call.settings)
    n_seq, t = y[0].shape[1], call.seed % y[0].shape[1]
    dy = np.zeros(y[0].shape)
    dy[:, t] = cotangents(y[0], call.seed)[:, t]
    dx, dh, *_ = pullback((dy, *(0.0 * last for last in y[1:])))
    outside = np.arange(n_seq) // 2 != t // 2
    assert np.all(dx[:, outside] == 0.0)
    assert t < 2 or np.all(dh == 0.0)
    assert np.any(dx[:, t] != 0.0)


@for_each_kind
def test_a_chunk_as_long_as_the_sequence_gives_the_full_gradient(kind):
    drawn(kind, one_chunk_is_the_full_gradient, n_layer=1, n_direction=1)


@for_each_kind
def test_truncated_gradients_stay_within_their_chunk(kind):
    drawn(kind, gradients_stay_within_their_chunk, n_layer=1, n_direction=1, with_lengths=False)


def never_forgets(component, call):
    """The constant error carousel: with f = 1 and i = 0 to the last bit, c and its gradient pass all steps."""
    d_hidden = call.arrays["c"].shape[-1]
    bias = np.concatenate([np.full(d_hidden, -900.0), np.full(d_hidden, 900.0), np.zeros(2 * d_hidden)])
    params = {key: 0.0 * x for key, x in call.params.items()} | {"bias_ih_l0": bias}
    (y, h_last, c_last), pullback = component(Call(call.arrays, params, call.settings))
    np.testing.assert_array_equal(c_last, call.arrays["c"])
    dc_last = cotangents(c_last, call.seed)
    _, _, dc, _ = pullback((0.0 * y, 0.0 * h_last, dc_last))
    np.testing.assert_array_equal(dc, dc_last)


def test_an_lstm_that_never_forgets_keeps_its_memory_and_its_gradient():
    drawn("lstm", never_forgets, n_layer=1, n_direction=1, with_lengths=False)


@given(draw_recurrent.cell_calls("gru"))
def test_both_resets_are_one_where_nothing_is_reset(call):
    """With r = 1 to the last bit, before and after the product are the same."""
    n = call.arrays["h"].shape[-1]
    bias = np.concatenate([np.full(n, 900.0), np.zeros(2 * n)])
    params = {key: x for key, x in call.params.items() if key != "bias_ih"} | {"bias_ih": bias}
    found = {}
    for reset in ("after", "before"):
        variant = Call(call.arrays, params, {"reset": reset}, call.seed)
        found[reset] = outputs(component_of(gru_cell)(variant)[0])["y"]
    sigma = spread_run(component_of(gru_cell), Call(call.arrays, params, {"reset": "after"}, call.seed))[0]["y"].sigma
    assert_close(found["before"], found["after"], sigma, name="h")
