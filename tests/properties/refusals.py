"""Bad input of every kind, made out of a good call: each must be refused by name, expected and got."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from compare.interpretations import strict_device
from tests.properties.component import cotangents


def spoilt_calls(call):
    """Yield the kind of error, words that the message must hold, and the bad call."""
    yield from _wrong_kinds(call)
    yield from _wrong_shapes(call)
    yield from _wrong_ids(call)
    yield from _wrong_masks(call)
    if call.params is not None:
        yield from _wrong_keys(call)


def _wrong_kinds(call):
    leaves = call.leaves()
    for name, x in leaves.items():
        for bad, words in [
            (x.tolist(), ["got"]),
            ([x], ["got"]),
            (np.ones(x.shape, np.int64), ["floating", "int64"]),
            (x.astype(ml_dtypes.bfloat16), ["narrow", "bfloat16"]),
            (x.astype(object), ["numbers", "object"]),
        ]:
            yield TypeError, words, call.with_leaves(leaves | {name: bad})
        if len(leaves) > 1:
            yield TypeError, ["dtype", "float32", "float64"], call.with_leaves(leaves | {name: x.astype(np.float32)})
        if len(call.inputs()) > 1:
            other = call.with_leaves(leaves | {name: strict_device.asarray(x)})
            yield TypeError, ["one library", "ndarray", "DeviceArray"], other


def _wrong_shapes(call):
    leaves = call.leaves()
    for name, x in leaves.items():
        if name.startswith("params."):
            key = name.split(".")[-1]
            wider = np.concatenate([x, x[..., :1]], axis=-1) if x.ndim else np.stack([x, x])
            yield ValueError, [key, "must", "got"], call.with_leaves(leaves | {name: x[..., None]})
            # A table of embeddings may have any number of rows, but its width is given by x or the other tables.
            if key != "weight" or "x" in leaves:
                yield ValueError, ["must", "got"], call.with_leaves(leaves | {name: wider})
            # A configuration says how many rows there are, and to be None is no shape at all.
            for axis in range(x.ndim) if "config" in call.settings else ():
                one = (slice(None),) * axis + (slice(1),)
                for bad in (np.concatenate([x, x[one]], axis=axis), *([x[one]] if x.shape[axis] > 1 else [])):
                    yield ValueError, ["must", "got"], call.with_leaves(leaves | {name: bad})
            if len(call.inputs()) > 1:  # or there is no library
                yield TypeError, [key, "must", "got"], call.with_leaves(leaves | {name: None})


def _wrong_ids(call):
    for name, x in call.arrays.items():
        if x.dtype.kind not in "iu" or not x.size:
            continue
        first = np.zeros(x.shape, bool)
        first[(0,) * x.ndim] = True
        floating = replace(call, arrays=call.arrays | {name: x.astype(np.float64)})
        unsigned = replace(call, arrays=call.arrays | {name: np.where(x < 0, 0, x).astype(np.uint64)})
        yield TypeError, ["integer", "int64", "uint64"], unsigned
        yield TypeError, [name.removeprefix("token_").removeprefix("segment_"), "integer", "float64"], floating
        for bad in (-1, 10**6):
            beyond = replace(call, arrays=call.arrays | {name: np.where(first, bad, x)})
            yield ValueError, ["must lie in", "got values", str(bad)], beyond


def _wrong_masks(call):
    for name, x in call.settings.items():
        if isinstance(x, np.ndarray):
            floating = replace(call, settings=call.settings | {name: x.astype(np.float64)})
            kind = "boolean" if x.dtype.kind == "b" else "integer"
            yield TypeError, [name, kind, "float64"], floating
            # More axes than there are, and one size too many.
            for bad in (np.ones((2, 2, 2, 2, 2, 2), x.dtype), np.ones([size + 7 for size in x.shape], x.dtype)):
                yield ValueError, [name, "must", "got"], replace(call, settings=call.settings | {name: bad})


def _wrong_keys(call):
    some = next(iter(call.params.values()), np.ones(1))
    yield ValueError, ["params", "unheard_of"], replace(call, params=call.params | {"unheard_of": some})
    for group in {key.rpartition(".")[0] for key in call.params}:
        key = f"{group}.unheard_of".lstrip(".")
        yield ValueError, ["params", "unheard_of"], replace(call, params=call.params | {key: some})
    for key in call.params if call.arrays or len(call.params) > 1 else ():  # without arrays there is no library
        # All matrices but projections, relative values, heads that may be tied and what scales noise or opens an expert
        # must be there.  Of vectors, and biases that are stacked, all but the norms of BERT may be absent.
        optional = ("weight_hr", "relative_value", "head.weight", "projections.", "noise.weight", "opening.weight")
        is_bias = key.rpartition(".")[2] == "bias"
        if call.params[key].ndim == 2 and not is_bias and not any(name in key for name in optional):
            rest = {name: value for name, value in call.params.items() if name != key}
            yield ValueError, ["params", "must have the keys", "weight"], replace(call, params=rest)
    yield TypeError, ["params", "dict"], replace(call, params=None, arrays=call.arrays | {"params": some})


def spoilt_gradients(dy):
    """Yield the kind of error, words that the message must hold, and a dy that is none."""
    parts = dy if isinstance(dy, tuple) else (dy,)
    for i, part in enumerate(parts):
        name = f"dy[{i}]" if isinstance(dy, tuple) else "dy"
        for error, words, bad in _no_gradients(part):
            yield error, [name, *words], (*parts[:i], bad, *parts[i + 1 :]) if isinstance(dy, tuple) else bad
    if isinstance(dy, tuple):
        yield ValueError, [f"a tuple of {len(dy)} gradients"], (*dy, dy[-1])
        yield ValueError, [f"a tuple of {len(dy)} gradients"], dy[:-1]
        yield TypeError, [f"a tuple of {len(dy)} gradients"], None
    else:
        yield TypeError, ["dy", "must be an array"], (dy,)
        yield TypeError, ["dy", "must be an array"], None


def _no_gradients(x):
    yield TypeError, ["must be an array"], x.tolist()
    yield TypeError, ["must have dtype", "int64"], np.ones(x.shape, np.int64)
    yield TypeError, ["must have dtype", "float32"], x.astype(np.float32)
    # Broadcast, each of these would be the gradient of something else.
    yield ValueError, ["must have shape"], x[None]
    for axis in range(x.ndim):
        yield ValueError, ["must have shape"], np.concatenate([x, x[(slice(None),) * axis + (slice(1),)]], axis=axis)
        if x.shape[axis] > 1:
            yield ValueError, ["must have shape"], x[(slice(None),) * axis + (slice(1),)]


def refuses_bad_gradients(component, call):
    y, pullback = component(call)
    for error, words, bad in spoilt_gradients(cotangents(y, call.seed)):
        with pytest.raises(error) as caught:
            pullback(bad)
        message = str(caught.value)
        assert all(word in message for word in [*words, "got"]), f"expected {words} in: {message}"


def refuses_bad_input(component, call):
    for error, words, bad in spoilt_calls(call):
        with pytest.raises(error) as caught:
            component(bad)
        message = str(caught.value)
        assert all(word in message for word in words), f"expected {words} in: {message}"
