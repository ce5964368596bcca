"""Calls of every word of the vocabulary, as data: the conformance test runs them on every kind of array.

A sample's text is what a component would write.  Its letters are its arguments: a, b, c are real, p is
positive, m is a mask, i and j are ids.
"""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sample:
    """One call form.

    `rounds` says how the result may differ from the exact one:

    - ``"not"``: elements move or are compared, so that nothing rounds;
    - ``"once"``: one operation per element, right to a few units in the last place of the result;
    - ``"terms"``: a sum of products, whose error is bounded by the same sum over absolute values.
    """

    word: str
    text: str
    rounds: str
    shapes: dict
    differentiable: bool = True

    def __str__(self):
        shapes = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        return f"{self.text}  [{shapes}]" if shapes else self.text

    def arguments(self, seed=0):
        """Make the arguments in float64, all of them exact in 16 bits too."""
        rng = np.random.default_rng(seed)
        return {name: _MAKERS[name](rng, shape) for name, shape in self.shapes.items()}

    def run(self, xp, arguments):
        """Evaluate the text."""
        from refimpl.arrays import erf, logsumexp, scatter_add

        names = {"erf": erf, "logsumexp": logsumexp, "scatter_add": scatter_add, "inf": math.inf}
        return eval(self.text, {"xp": xp, **names, **arguments})


# Seven significant bits are exact in bfloat16; no zeros, and no ties, where derivatives are conventions.
def _real(rng, shape):
    numbers = rng.permutation(np.delete(np.arange(-127, 128), 127))[: math.prod(shape)]
    return numbers.reshape(shape) / 32


def _positive(rng, shape):
    return (1 + np.floor(rng.random(shape) * 127)) / 32


def _mask(rng, shape):
    return rng.random(shape) < 0.6


def _ids(rng, shape):
    return rng.integers(0, 3, size=shape)


_MAKERS = {"a": _real, "b": _real, "c": _real, "p": _positive, "m": _mask, "i": _ids, "j": _ids}
_EXACT, _ONCE, _TERMS = "not", "once", "terms"


def _forms(word, rounds, *forms, differentiable=True):
    return [Sample(word, text, rounds, shapes, differentiable) for text, shapes in forms]


def _form(text, **shapes):
    return text, shapes


def _elementwise(word, argument="a", rounds=_ONCE, differentiable=True):
    shapes = [(), (5,), (2, 3), (2, 3, 4), (2, 1, 3, 4), (0, 3)]
    forms = [(f"xp.{word}({argument})", {argument: shape}) for shape in shapes]
    return _forms(word, rounds, *forms, differentiable=differentiable)


def _reduction(word, rounds, argument="a", differentiable=True):
    forms = [
        ("axis=-1", (2, 3)), ("axis=0", (2, 3)), ("axis=-1, keepdims=True", (2, 3, 4)), ("axis=1", (2, 3, 4)),
        ("axis=(0, 2)", (2, 3, 4)), ("axis=(0, 1), keepdims=True", (2, 3, 4)), ("axis=(1, 3)", (2, 3, 1, 4)),
        ("axis=-1", (0, 3)),
    ]  # fmt: skip
    forms = [(f"xp.{word}({argument}, {keywords})", {argument: shape}) for keywords, shape in forms]
    forms.append((f"xp.{word}({argument})", {argument: (3, 4)}))
    return _forms(word, rounds, *forms, differentiable=differentiable)


_WORDS = [
    *_elementwise("exp"),
    *_elementwise("log", "p"),
    *_elementwise("sqrt", "p"),
    *_elementwise("tanh"),
    *_elementwise("sin"),
    *_elementwise("cos"),
    *_elementwise("floor", rounds=_EXACT, differentiable=False),
    *_elementwise("isfinite", rounds=_EXACT, differentiable=False),
    *_forms(
        "isfinite", _EXACT,
        _form("xp.isfinite(xp.where(m, a, inf))", m=(2, 3), a=(2, 3)),
        differentiable=False,
    ),
    *_forms(
        "where", _EXACT,
        _form("xp.where(m, a, b)", m=(2, 3), a=(2, 3), b=(2, 3)),
        _form("xp.where(m, a, 0.0)", m=(2, 3, 4), a=(2, 3, 4)),
        _form("xp.where(m, -inf, a)", m=(2, 3), a=(2, 3)),
        _form("xp.where(m, a, b)", m=(3, 1), a=(2, 3, 4), b=(2, 3, 4)),
        _form("xp.where(a > 0, a, 0.0)", a=(2, 3, 4)),
        _form("xp.where(a > b, a, b)", a=(0, 4), b=(0, 4)),
    ),
    *_reduction("sum", _TERMS),
    *_forms("sum", _TERMS, _form("xp.sum(a, axis=0)", a=(0, 3)), _form("xp.sum(a, axis=())", a=(2, 3))),
    *_forms("sum", _EXACT, _form("xp.sum(m, axis=-1)", m=(2, 3)), differentiable=False),
    *_reduction("mean", _TERMS),
    *_reduction("max", _EXACT),
    *_reduction("min", _EXACT),
    *_forms("min", _EXACT, _form("xp.min(i)", i=(2, 3)), _form("xp.max(i)", i=(4,)), differentiable=False),
    *_reduction("any", _EXACT, "m", differentiable=False),
    *_reduction("all", _EXACT, "m", differentiable=False),
    *_forms(
        "argmax", _EXACT,
        _form("xp.argmax(a, axis=-1)", a=(2, 3)),
        _form("xp.argmax(a, axis=1)", a=(2, 3, 4)),
        _form("xp.argmax(i, axis=-1)", i=(5, 7)),  # ties
        differentiable=False,
    ),
    *_forms(
        "cumsum", _TERMS,
        _form("xp.cumsum(a, axis=0)", a=(3, 4)),
        _form("xp.cumsum(a, axis=-1)", a=(2, 3, 4)),
        _form("xp.cumsum(a, axis=-1)", a=(0, 4)),
    ),
    *_forms("cumsum", _EXACT, _form("xp.cumsum(i, axis=-1)", i=(2, 4)), differentiable=False),
    *_forms(
        "argsort", _EXACT,
        _form("xp.argsort(a, axis=-1)", a=(2, 5)),
        _form("xp.argsort(-a, axis=-1)", a=(2, 3, 4)),
        differentiable=False,
    ),
    *_forms(
        "matmul", _TERMS,
        _form("xp.matmul(a, b)", a=(2, 3), b=(3, 4)),
        _form("xp.matmul(a, b)", a=(5, 2, 3), b=(5, 3, 4)),
        _form("xp.matmul(a, b)", a=(2, 1, 4, 3), b=(5, 3, 2)),
        _form("xp.matmul(a, b)", a=(5, 2, 3), b=(3, 4)),
        _form("xp.matmul(a, b)", a=(2, 0), b=(0, 4)),
        _form("xp.matmul(a, xp.swapaxes(b, -1, -2))", a=(2, 2, 3), b=(2, 4, 3)),
    ),
    *_forms(
        "einsum", _TERMS,
        _form('xp.einsum("ab,bc->ac", a, b)', a=(2, 3), b=(3, 4)),
        _form('xp.einsum("ab->ba", a)', a=(2, 3)),
        _form('xp.einsum("abc->b", a)', a=(2, 3, 4)),
        _form('xp.einsum("...i,oi->...o", a, b)', a=(2, 3, 4), b=(5, 4)),
        _form('xp.einsum("...qd,...kd->...qk", a, b)', a=(2, 3, 4, 5), b=(2, 3, 2, 5)),
        _form('xp.einsum("...qd,...kd->...qk", a, b)', a=(3, 4, 5), b=(2, 3, 2, 5)),
        _form('xp.einsum("a,b->ab", a, b)', a=(2,), b=(3,)),
        _form('xp.einsum("ab,bc,cd->ad", a, b, c)', a=(2, 3), b=(3, 4), c=(4, 5)),
        _form('xp.einsum("...a,...a,...a->...", a, b, c)', a=(2, 3), b=(2, 3), c=(2, 3)),
        _form('xp.einsum("ab,bc->ac", a, b)', a=(0, 3), b=(3, 4)),
    ),
    *_forms(
        "reshape", _EXACT,
        _form("xp.reshape(a, (6, 4))", a=(2, 3, 4)),
        _form("xp.reshape(a, (-1, 4))", a=(2, 3, 4)),
        _form("xp.reshape(xp.swapaxes(a, 0, 1), (3, 8))", a=(2, 3, 4)),
        _form("xp.reshape(a, (*a.shape[:-1], 2, 2))", a=(2, 3, 4)),
        _form("xp.reshape(a, (0, 4))", a=(2, 0, 2)),
    ),
    *_forms(
        "swapaxes", _EXACT,
        _form("xp.swapaxes(a, -1, -2)", a=(2, 3)),
        _form("xp.swapaxes(a, 1, 2)", a=(2, 3, 4, 5)),
    ),
    *_forms(
        "moveaxis", _EXACT,
        _form("xp.moveaxis(a, 0, -1)", a=(2, 3, 4)),
        _form("xp.moveaxis(a, (0, 1), (1, 2))", a=(2, 3, 4, 5)),
    ),
    *_forms(
        "expand_dims", _EXACT,
        _form("xp.expand_dims(a, axis=0)", a=(2, 3)),
        _form("xp.expand_dims(a, axis=-1)", a=(2, 3, 4)),
    ),
    *_forms(
        "squeeze", _EXACT,
        _form("xp.squeeze(a, axis=1)", a=(2, 1, 3)),
        _form("xp.squeeze(a, axis=-1)", a=(2, 3, 1)),
    ),
    *_forms(
        "concatenate", _EXACT,
        _form("xp.concatenate([a, b], axis=-1)", a=(2, 3), b=(2, 4)),
        _form("xp.concatenate((a, b, c), axis=0)", a=(2, 3, 4), b=(1, 3, 4), c=(0, 3, 4)),
    ),
    *_forms(
        "stack", _EXACT,
        _form("xp.stack([a, b], axis=0)", a=(2, 3), b=(2, 3)),
        _form("xp.stack([a, b, c], axis=1)", a=(2, 3, 4), b=(2, 3, 4), c=(2, 3, 4)),
        _form("xp.stack([a, b], axis=-1)", a=(4,), b=(4,)),
    ),
    *_forms(
        "split", _EXACT,
        _form("xp.split(a, 3, axis=-1)", a=(2, 6)),
        _form("xp.split(a, [1, 3], axis=1)", a=(2, 5, 3)),
    ),
    *_forms(
        "pad", _EXACT,
        _form('xp.pad(a, ((1, 0), (0, 2)), mode="constant")', a=(2, 3)),
        _form('xp.pad(a, ((0, 0), (2, 1), (0, 0)), mode="constant", constant_values=-1.5)', a=(2, 3, 4)),
        _form('xp.pad(a, ((0, 0), (1, 0)), mode="constant")', a=(0, 3)),
    ),
    *_forms(
        "tril", _EXACT,
        _form("xp.tril(a)", a=(3, 4)),
        _form("xp.tril(a, k=-1)", a=(2, 3, 4)),
        _form("xp.tril(xp.ones((3, 4), dtype=xp.bool_), k=1) & m", m=(3, 4)),
    ),
    *_forms("triu", _EXACT, _form("xp.triu(a)", a=(3, 4)), _form("xp.triu(a, k=1)", a=(2, 3, 4))),
    *_forms(
        "zeros", _EXACT,
        _form("xp.zeros((2, 3), dtype=xp.float32)"),
        _form("xp.zeros((0, 2), dtype=xp.float64)"),
        _form("a + xp.zeros((2, 3), dtype=a.dtype)", a=(3,)),
    ),
    *_forms(
        "ones", _EXACT,
        _form("xp.ones((2, 3), dtype=xp.float64)"),
        _form("xp.ones((2,), dtype=xp.bool_)"),
        _form("xp.where(m, a, xp.ones(a.shape, dtype=a.dtype))", a=(2, 3), m=(2, 3)),
    ),
    *_forms(
        "full", _EXACT,
        _form("xp.full((2, 3), 1.5, dtype=xp.float32)"),
        _form("xp.full((2,), -inf, dtype=xp.float64)"),
        _form("xp.full((2, 3), True, dtype=xp.bool_) & m", m=(2, 3)),
        _form("xp.where(m, xp.full(a.shape, 0.5, dtype=a.dtype), a)", a=(2, 3), m=(2, 3)),
    ),
    *_forms(
        "arange", _EXACT,
        _form("xp.arange(4)"), _form("xp.arange(2, 7)"), _form("xp.arange(5, 0, -2)"), _form("xp.arange(0)"),
        _form("a[xp.arange(2), :]", a=(3, 4)),
    ),
    *_forms(
        "asarray", _EXACT,
        _form("xp.asarray([1.5, -2.0, 0.25], dtype=xp.float32)"), _form("xp.asarray([0.5], dtype=xp.float64)"),
        _form("xp.asarray([3, 1, 2], dtype=xp.int64)"), _form("a[xp.asarray([1, 0], dtype=xp.int64)]", a=(3, 4)),
        _form("xp.asarray([], dtype=xp.float32)"),
    ),
    *_forms("zeros_like", _EXACT, _form("xp.zeros_like(a)", a=(2, 3)), _form("xp.zeros_like(m)", m=(2,)),
            differentiable=False),
    *_forms("ones_like", _EXACT, _form("xp.ones_like(a)", a=(2, 3)), _form("xp.ones_like(m)", m=(2,)),
            differentiable=False),
    *_forms("float32", _EXACT, _form("m.astype(xp.float32)", m=(2, 3)), differentiable=False),
    *_forms("float64", _EXACT, _form("i.astype(xp.float64)", i=(2, 3)), differentiable=False),
    *_forms("int64", _EXACT, _form("m.astype(xp.int64)", m=(2, 3)), _form("xp.zeros((2,), dtype=xp.int64)"),
            differentiable=False),
    *_forms("bool_", _EXACT, _form("i.astype(xp.bool_)", i=(2, 3)), differentiable=False),
]  # fmt: skip

_SPECIAL = [
    *_forms("erf", _ONCE, _form("erf(a)", a=(5,)), _form("erf(a)", a=(2, 3, 4)), _form("erf(a)", a=(0, 3))),
    *_forms(
        "logsumexp", "log-sum",
        _form("logsumexp(a)", a=(4,)), _form("logsumexp(a)", a=(2, 3, 4)), _form("logsumexp(a)", a=(0, 3)),
        _form("logsumexp(xp.where(m, a, -inf))", a=(3, 5), m=(3, 5)),
    ),
    *_forms("logsumexp", _EXACT, _form("logsumexp(a)", a=(2, 0)), differentiable=False),
    *_forms(
        "scatter_add", _TERMS,
        _form("scatter_add(i, a, 3)", i=(7,), a=(7, 2)),
        _form("scatter_add(i, a, 4)", i=(0,), a=(0, 2)),
    ),
]  # fmt: skip

_OPERATORS = [
    *_forms(
        "operator", _ONCE,
        _form("a + b", a=(2, 3), b=(2, 3)), _form("a - b", a=(2, 3, 4), b=(4,)),
        _form("a * b", a=(2, 1, 4), b=(3, 1)),
        _form("a / p", a=(2, 3), p=(3,)), _form("a + 0.5", a=(2, 3)), _form("1.5 + a", a=(2, 3)),
        _form("a - 1", a=(2, 3)), _form("1 - a", a=(2, 3)), _form("a * 0.25", a=(2, 3)),
        _form("2 * a", a=(2, 3)),
        _form("a / 3", a=(2, 3)), _form("1.0 / p", p=(2, 3, 4)), _form("a * b", a=(0, 3), b=(3,)),
    ),
    *_forms(
        "operator", _EXACT,
        _form("-a", a=(2, 3)), _form("a.astype(a.dtype)", a=(2, 3)),
        _form("m.astype(a.dtype) * a", m=(2, 3), a=(2, 3)),
    ),
    *_forms(
        "operator", _EXACT,
        _form("a > b", a=(2, 3), b=(3,)), _form("a >= 0.0", a=(2, 3)), _form("a < 0.5", a=(2, 3)),
        _form("0.5 < a", a=(2, 3)), _form("a <= b", a=(2, 3), b=(2, 3)), _form("a == a", a=(2, 3)),
        _form("a != b", a=(4,), b=(4,)), _form("i == j", i=(2, 3), j=(2, 3)), _form("i == 1", i=(2, 3)),
        _form("i[:, None] >= xp.arange(3)[None, :]", i=(4,)), _form("i + 1", i=(3,)),
        _form("2 * i - j", i=(3,), j=(3,)),
        _form("i / 2", i=(3,)), _form("(a > 0) & m", a=(2, 3), m=(2, 3)),
        _form("(a > 0) | m", a=(2, 3), m=(3,)),
        _form("~m", m=(2, 3)), _form("a.astype(xp.float64)", a=(2, 3)),
        differentiable=False,
    ),
]  # fmt: skip

_INDEXING = [
    *_forms(
        "indexing", _EXACT,
        _form("a[0]", a=(2, 3)), _form("a[0] * 1.0", a=(4,)), _form("a[-1, 1:]", a=(2, 3)),
        _form("a[..., ::-1]", a=(2, 3, 4)),
        _form("a[:, None]", a=(2, 3)), _form("a[..., None, :]", a=(2, 3, 4)),
        _form("a[..., :2]", a=(2, 3, 4)),
        _form("a[:, 1, ::2]", a=(2, 3, 4)), _form("a[i]", a=(3, 4), i=(5,)),
        _form("a[i]", a=(3, 4), i=(2, 5)),
        _form("a[i, j]", a=(3, 4), i=(5,), j=(5,)), _form("a[i[:, None], j]", a=(3, 4), i=(2,), j=(5,)),
        _form("a[:, i]", a=(2, 3, 4), i=(5,)), _form("a[..., i]", a=(2, 3, 4), i=(2, 2)),
        _form("a[i, :, j]", a=(3, 2, 4), i=(5,), j=(5,)), _form("a[0, :, i]", a=(3, 2, 4), i=(5,)),
        _form("a[:, 0, i]", a=(3, 2, 4), i=(5,)), _form("a[i]", a=(3, 4), i=(0,)), _form("a[1:1]", a=(2, 3)),
        _form("a[i, None, 1:]", a=(3, 4), i=(2,)), _form("a[i, ...]", a=(3, 4, 2), i=(2,)),
    ),
    *_forms("mask indexing", _EXACT, _form("a[m]", a=(2, 3), m=(2, 3)), _form("a[m]", a=(3, 4), m=(3,))),
]  # fmt: skip

SAMPLES = [*_WORDS, *_SPECIAL, *_OPERATORS, *_INDEXING]
