"""How the tensors and settings of two checkpoints differ, in words: the usual mistakes of a conversion."""

from dataclasses import fields

import numpy as np

from refimpl.checkpoints.recurrent_conventions import GATE_ORDERS, reorder_gates
from refimpl.positions.rotary_layout import half_to_interleaved, interleaved_to_half

QKV = ("query", "key", "value")


def differing_settings(config, other):
    """List the settings in which two configurations differ.

    Parameters
    ----------
    config, other : object
        Configurations of one class.

    Returns
    -------
    list of str
        One sentence for each.
    """
    pairs = [(entry.name, getattr(config, entry.name), getattr(other, entry.name)) for entry in fields(config)]
    return [f"{name} is {ours!r}, there {theirs!r}" for name, ours, theirs in pairs if ours != theirs]


def differing_tensors(params, other, *, n_head):
    """List the tensors in which two checkpoints differ, and how.

    Parameters
    ----------
    params, other : dict of (str, numpy.ndarray)
        Parameters by our names.
    n_head : int
        The number of heads.

    Returns
    -------
    list of str
        One sentence for each.
    """
    missing = [f"{key} is there only" for key in other if key not in params]
    extra = [f"{key} is here only" for key in params if key not in other]
    unequal = [key for key in params if key in other and not _equal(params[key], other[key])]
    return missing + extra + [f"{key}: {_how(key, params, other, unequal, n_head)}" for key in unequal]


def _how(key, params, other, unequal, n_head):
    x, y = (np.asarray(tree[key], np.float64) for tree in (params, other))
    if x.shape != y.shape:
        return f"shape {x.shape}, there {y.shape}" + (", transposed" if x.shape == y.shape[::-1] else "")
    for name, candidate in _variants(y, n_head):
        if _equal(x, candidate):
            return name
    twin = next((twin for twin in unequal if twin != key and _equal(params[key], other[twin])), None)
    if twin:
        return f"what {twin} is there"
    return _amount(x, y)


def _variants(y, n_head):
    """Go through the usual mistakes: a name, and what they make of the right tensor."""
    if y.ndim == 2:
        yield "transposed", y.T
    yield "negated", -y
    yield "1 added", y + 1
    yield "1 subtracted", y - 1
    n_row = y.shape[0]
    if n_row % 3 == 0:
        parts = np.split(y, 3)
        for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)):
            name = ", ".join(QKV[i] for i in order)
            yield f"its three parts in the order {name}", np.concatenate([parts[i] for i in order])
        if n_row % (3 * n_head) == 0:
            by_head = y.reshape(3, n_head, -1, *y.shape[1:])
            yield "fused head by head", by_head.swapaxes(0, 1).reshape(y.shape)
            back = y.reshape(n_head, 3, -1, *y.shape[1:])
            yield "not fused head by head", back.swapaxes(0, 1).reshape(y.shape)
    # Keys may have fewer heads than queries.
    for n in (n for n in range(n_head, 0, -1) if n_head % n == 0):
        if n_row % (2 * n) == 0:
            yield f"rotary pairs interleaved, not in halves ({n} heads)", half_to_interleaved(y, n_head=n)
            yield f"rotary pairs in halves, not interleaved ({n} heads)", interleaved_to_half(y, n_head=n)
    for kind in ("lstm", "gru"):
        if n_row % len(GATE_ORDERS["torch"][kind]) == 0:
            for library in ("onnx", "keras"):
                yield f"gates as {library} orders them", reorder_gates(y, kind=kind, source="torch", target=library)
    if n_row % 2 == 0:
        yield "its two halves exchanged", np.roll(y, n_row // 2, axis=0)


def _amount(x, y):
    differ = x != y
    ratio = x[differ] / np.where(y[differ] == 0, np.nan, y[differ])
    if differ.sum() > 1 and np.ptp(ratio) <= 2.0**-20 * abs(ratio[0]):
        return f"{ratio[0]:.6g} times as large" + ("" if differ.all() else f" in {differ.sum()} of {x.size} numbers")
    if x.ndim and _equal(np.sort(x, axis=0), np.sort(y, axis=0)):
        return "its rows in another order"
    return f"{differ.sum()} of {x.size} numbers differ, by up to {np.abs(x - y).max():.3g}"


def _equal(x, y):
    return x.shape == y.shape and np.array_equal(x, y, equal_nan=True)
