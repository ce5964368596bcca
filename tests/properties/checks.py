"""What must hold for every component and every call.  Each check raises AssertionError where it does not.

They are functions, apart from the tests that run them, so that wrong components can be shown to them too.
"""

from dataclasses import replace

import numpy as np

from compare import strategies
from refimpl.arrays.narrow import DTYPES as NARROW
from refimpl.arrays.narrow import Narrow
from refimpl.models.bert.config import BertConfig
from tests.properties.autograd_oracle import autograd_gradients
from tests.properties.component import cast, complex_step, cotangents, directions, outputs
from tests.properties.rounding import LIMIT, assert_all_close, spread_run

DTYPES = [np.dtype(dtype) for dtype in (np.float64, np.float32, *NARROW.values())]


def adjoint_identity(component, call):
    """<Jv, w> = <v, J'w>, with Jv by complex step in extended precision, so that only J'w is rounded."""
    v = directions(call.leaves(), call.seed)
    (y, _), derivative = complex_step(component, call, v)
    dy = cotangents(y, call.seed)
    pairs = zip(y, dy, strict=True) if isinstance(y, tuple) else [(y, dy)]
    forwards = sum(np.sum(derivative(part) * dpart) for part, dpart in pairs)

    _, gradients = component.run(call)
    _, spreads = spread_run(component, call)
    assert gradients.keys() == v.keys()
    backwards = sum(np.sum(gradients[name].astype(np.longdouble) * v[name]) for name in v)
    # The errors within one gradient may be one and the same, so they add up as they are, not in squares.
    sigma = sum(np.sum(np.abs(v[name]) * spreads[name].sigma) for name in v)
    # What only moves numbers rounds nothing, but the two sums add the same products in another order.
    n_term, terms = (sum(f(v[name] * gradients[name]) for name in v) for f in (np.size, lambda x: np.sum(np.abs(x))))
    sigma = sigma + np.finfo(np.longdouble).eps * n_term * terms
    assert abs(forwards - backwards) <= LIMIT * sigma, f"<Jv, w> = {forwards}, <v, J'w> = {backwards}, {sigma = }"


def linear_pullback(component, call):
    """pullback(2 a - b / 2) = 2 pullback(a) - pullback(b) / 2: powers of two, so that only the additions round."""
    y, pullback = component(call)
    a, b = cotangents(y, call.seed), cotangents(y, call.seed + 1)
    mixed = tuple(map(_mix, a, b)) if isinstance(y, tuple) else _mix(a, b)
    of_a, of_b, of_mixed = (component.gradients(pullback, dy, call) for dy in (a, b, mixed))
    spreads = [spread_run(component, replace(call, seed=seed))[1] for seed in (call.seed, call.seed + 1)]
    for name, gradient in of_mixed.items():
        # As large as the parts, which may cancel in the sum: each is rounded by itself and again within the mix.
        sigma = 2.0 * spreads[0][name].sigma + 0.5 * spreads[1][name].sigma
        difference = np.abs(gradient - _mix(of_a[name], of_b[name]))
        assert np.all(difference <= 2.0 * LIMIT * sigma), f"{name}: off by {difference.max():.3g}"


def _mix(a, b):
    return 2.0 * a - 0.5 * b


def pure(component, call):
    """Forward and pullback give the same bits when they are called again."""
    y, pullback = component(call)
    dy, other = cotangents(y, call.seed), cotangents(y, call.seed + 1)
    first = component.gradients(pullback, dy, call)
    component.gradients(pullback, other, call)
    _assert_same_bits(component.gradients(pullback, dy, call), first)
    _assert_same_bits(outputs(component(call)[0]), outputs(y))
    _assert_same_bits(component.run(call)[1], first)


def untouched(component, call):
    """Inputs and cotangents may be read-only and stay as they are; nothing that comes out shares their memory."""
    frozen = call.map_arrays(lambda x: strategies.laid_out(x, "contiguous"))
    y, pullback = component(frozen)
    dy = cotangents(y, call.seed)
    given = {**frozen.inputs(), **{f"d{name}": x for name, x in outputs(dy).items()}}
    for x in given.values():
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    gradients = component.gradients(pullback, dy, call)
    for name, x in call.inputs().items():
        np.testing.assert_array_equal(given[name], x, err_msg=name)
    made = [*outputs(y).items(), *gradients.items()]
    for i, (name, x) in enumerate(made):
        for other_name, other in [*given.items(), *made[:i]]:
            assert not np.shares_memory(x, other), f"{name} shares memory with {other_name}"


def shapes_and_dtypes(component, call):
    """Whatever dtype goes in comes out, of outputs and every gradient; gradients look like what they belong to."""
    for dtype in DTYPES:
        narrowed = call.map_leaves(lambda x, dtype=dtype: cast(x, dtype))
        y, gradients = component.run(narrowed)
        for name, x in [*y.items(), *gradients.items()]:
            assert x.dtype == dtype, f"{name}: {dtype} went in, {x.dtype} came out"
            assert isinstance(x, Narrow) == (dtype in NARROW.values()), f"{name}: {type(x)} came out"
        leaves = narrowed.leaves()
        assert list(gradients) == [name for name in leaves if name in gradients]
        assert gradients.keys() == leaves.keys(), f"gradients of {list(gradients)} for {list(leaves)}"
        for name, gradient in gradients.items():
            assert gradient.shape == leaves[name].shape, f"{name}: {leaves[name].shape} got {gradient.shape}"


def within_the_spread(component, call):
    """In every dtype, outputs and gradients lie within the tolerance around the truth, which is their own text."""
    for dtype in DTYPES[1:]:
        narrowed = call.map_leaves(lambda x, dtype=dtype: cast(x, dtype))
        y, pullback = component(narrowed)
        dy = cotangents(y, call.seed)
        gradients = component.gradients(pullback, dy, narrowed)
        y_spread, gradient_spreads = spread_run(component, narrowed, dtype)
        spreads = y_spread | gradient_spreads
        truths = {name: x.value for name, x in spreads.items()}
        assert_all_close(outputs(y) | gradients, truths, spreads, n_rounded=1)


def indifferent_to_layout(component, call):
    """Non-contiguous, reversed and Fortran-ordered input means the same as contiguous input."""
    y, gradients = component.run(call)
    y_spread, gradient_spreads = spread_run(component, call)
    for layout in strategies.LAYOUTS:
        laid_out = call.map_arrays(lambda x, layout=layout: strategies.laid_out(x, layout))
        got = component.run(laid_out)
        assert_all_close(got[0] | got[1], y | gradients, y_spread | gradient_spreads)


def indifferent_to_batch_order(component, call):
    """Permuting the batch permutes outputs and gradients of what has a batch, and leaves the others."""
    if not has_batch(component, call):
        return
    n_batch = next(iter(call.arrays.values())).shape[0]
    order = np.random.default_rng(call.seed).permutation(n_batch)
    permuted, batched = select(call, order)
    y, pullback = component(permuted)
    dy = cotangents(component(call)[0], call.seed)
    dy_permuted = tuple(_in_order(x, order) for x in dy) if isinstance(dy, tuple) else _in_order(dy, order)
    got = outputs(y) | component.gradients(pullback, dy_permuted, permuted)

    def reorder(y, gradients):
        return {name: _in_order(x, order) for name, x in y.items()} | {
            name: x[order] if name in batched else x for name, x in gradients.items()
        }

    assert_all_close(got, reorder(*component.run(call)), reorder(*spread_run(component, call)))


def happy_with_nothing(component, call):
    """An empty batch gives an empty batch, and gradients of 0."""
    if not has_batch(component, call):
        return
    empty, _ = select(call, slice(0, 0))
    y, gradients = component.run(empty)
    full, _ = component.run(call)
    leaves = empty.leaves()
    for name, x in y.items():
        assert x.shape == full[name][:0].shape if full[name].ndim else x == 0.0, name
    for name, x in gradients.items():
        assert x.dtype == leaves[name].dtype
        np.testing.assert_array_equal(x, np.zeros(leaves[name].shape), err_msg=name)


def has_batch(component, call):
    return bool(call.arrays) and next(iter(call.arrays.values())).ndim >= component.batch_rank


def select(call, index):
    """Index the batch axis of whatever has one; the call and the names of these arrays."""
    first = next(iter(call.arrays.values()))
    rank = 4 if "n_head" in call.settings or "config" in call.settings else first.ndim
    n_batch = first.shape[0]
    # Masks and biases may be broadcast along the batch.
    # Those of tokens have no axis of features, and are never broadcast.
    settings = {name: x for name, x in call.settings.items() if isinstance(x, np.ndarray)}
    # A mask of BERT is one of attention: of rank 2 it says which query sees which key, whatever the batch.
    is_bert = isinstance(call.settings.get("config"), BertConfig)
    of_ids = set() if is_bert else {x.shape for x in call.arrays.values() if x.dtype.kind in "iu"}
    masks = {name: x for name, x in settings.items() if x.ndim == rank or name == "is_token" or x.shape in of_ids}
    batched = {name for name, x in (call.arrays | masks).items() if x.shape[:1] == (n_batch,)}
    batched -= {"bias"} if "bias" in call.arrays and call.arrays["bias"].ndim < rank else set()
    arrays = {name: x[index] if name in batched else x for name, x in call.arrays.items()}
    settings = {name: x[index] if name in batched else x for name, x in call.settings.items()}
    return replace(call, arrays=arrays, settings=settings), batched


def _in_order(x, order):
    return x[order] if x.ndim else x


def agrees_with_autograd(component, call):
    """HIPS autograd, which knows nothing of our pullbacks, finds the same gradients from the same forward."""
    _, gradients = component.run(call)
    _, spreads = spread_run(component, call)
    want = autograd_gradients(component, call)
    in_float64 = any(x.dtype == np.float64 for x in want.values())
    assert_all_close(gradients, want, spreads, n_rounded=2 if in_float64 else 1)


def second_derivative(component, call):
    """The derivative of the pullback along v: our pullback by complex step, autograd through autograd.

    Hv of S = <y, w> sums at most n terms an element, n the number of input elements, each rounded in every of the
    few steps of the chain, and mostly none larger than the largest gradient or second derivative that meet.  Where
    larger ones cancel, autograd may be off by more; what tells its rounding from a wrong formula is that rounding
    is another at every point, and a wrong formula is wrong by almost the same at all points nearby.
    """
    # Autograd's second derivative of tanh is inf/inf where cosh² overflows, beyond 355.
    call = call.map_leaves(lambda x: x * min(1.0, 3.0 / np.max(np.abs(x))))
    errors, bound = _second_derivative_errors(component, call)
    if all(np.max(np.abs(error), initial=0.0) <= bound for error in errors.values()):
        return
    generator = np.random.default_rng(call.seed)
    nearby = [call.map_leaves(lambda x: x * (1.0 + generator.uniform(-1e-3, 1e-3, x.shape))) for _ in range(8)]
    several = [_second_derivative_errors(component, near)[0] for near in nearby]
    for name, error in errors.items():
        of_name = np.stack([part[name] for part in several])
        systematic, scatter = np.abs(np.mean(of_name, axis=0)), np.std(of_name, axis=0)
        # Asked this way round, NaN is wrong.
        right = (np.abs(error) <= bound) | (systematic <= LIMIT * scatter)
        assert np.all(right), f"{name}: off by {np.max(np.abs(error)):.3g} where {bound:.3g} is allowed"


def _second_derivative_errors(component, call):
    v = directions(call.leaves(), call.seed)
    (y, pullback), derivative = complex_step(component, call, v)
    gradients = component.gradients(pullback, cotangents(y, call.seed), call)
    got = {name: derivative(x) for name, x in gradients.items()}
    want = autograd_gradients(component, call, v)
    n = sum(x.size for x in v.values())
    scale = max(np.max(np.abs(part), initial=0.0) for part in (*got.values(), *(x.real for x in gradients.values())))
    bound = np.finfo(np.float64).eps * 10 * n * scale * max(np.max(np.abs(x), initial=1.0) for x in v.values())
    return {name: got[name] - want[name] for name in got}, bound


def _assert_same_bits(got, want):
    assert got.keys() == want.keys()
    for name, x in got.items():
        np.testing.assert_array_equal(x, want[name], err_msg=name)

