"""What a property needs to know of a component, and one call of it with all that it is given."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refimpl.arrays import narrow


@dataclass(frozen=True)
class Call:
    """The positional arrays by name, the parameters (or None), and the settings, masks among them."""

    arrays: dict
    params: dict | None
    settings: dict
    seed: int = 0

    def leaves(self):
        """Every array that a gradient belongs to, by name."""
        found = {name: x for name, x in self.arrays.items() if x.dtype.kind not in "iu"}
        return found | {f"params.{key}": x for key, x in (self.params or {}).items()}

    def with_leaves(self, leaves):
        arrays = {name: leaves.get(name, x) for name, x in self.arrays.items()}
        params = None if self.params is None else {key: leaves[f"params.{key}"] for key in self.params}
        return replace(self, arrays=arrays, params=params)

    def map_leaves(self, f):
        return self.with_leaves({name: f(x) for name, x in self.leaves().items()})

    def map_arrays(self, f):
        """Apply to ids and masks too."""
        mapped = self.map_leaves(f)
        arrays = {name: x if name in mapped.leaves() else f(x) for name, x in mapped.arrays.items()}
        settings = {name: f(x) if isinstance(x, np.ndarray) else x for name, x in self.settings.items()}
        return replace(mapped, arrays=arrays, settings=settings)

    def inputs(self):
        """Every array that goes in, by name."""
        masks = {name: x for name, x in self.settings.items() if isinstance(x, np.ndarray)}
        return self.arrays | {f"params.{key}": x for key, x in (self.params or {}).items()} | masks


@dataclass(frozen=True)
class Component:
    """A component, how to draw calls of it, and what may be asked of it.

    `differentiable` names its positional arguments with a gradient, "params" among them; an argument that a
    call leaves out has none.  `curved` says that second derivatives exist everywhere, and do not all vanish.
    `batch_rank` is the rank of the first array from which on its first axis is a batch.  `weight` says how many
    times fewer examples it gets, because it is slow.
    """

    function: Any
    calls: Any
    differentiable: tuple
    curved: bool = True
    batch_rank: int = 2
    weight: int = 1

    def __str__(self):
        return self.function.__name__

    def __call__(self, call):
        params = () if call.params is None else (call.params,)
        return self.function(*call.arrays.values(), *params, **call.settings)

    def gradients(self, pullback, dy, call):
        """Call the pullback and name what comes back."""
        gradients = pullback(dy)
        assert isinstance(gradients, tuple), f"expected a tuple of gradients, got {type(gradients).__name__}"
        there = [name for name in self.differentiable if name == "params" or name in call.arrays]
        assert len(gradients) == len(there), f"expected gradients of {there}, got {len(gradients)}"
        named = {}
        for name, gradient in zip(there, gradients, strict=True):
            if name == "params":
                assert isinstance(gradient, dict)
                named |= {f"params.{key}": x for key, x in gradient.items()}
            else:
                named[name] = gradient
        return named

    def run(self, call, seed=None):
        """Outputs and gradients by name, for random cotangents."""
        y, pullback = self(call)
        return outputs(y), self.gradients(pullback, cotangents(y, call.seed if seed is None else seed), call)


def outputs(y):
    return {f"y[{i}]": part for i, part in enumerate(y)} if isinstance(y, tuple) else {"y": y}


def cotangents(y, seed):
    """Random dy like y.  Never ones: the gradients of softmax and of norms vanish under a plain sum."""
    generator = np.random.default_rng([seed, 1])
    if isinstance(y, tuple):
        return tuple(_like(part, generator) for part in y)
    return _like(y, generator)


def _like(y, generator):
    return cast(np.asarray(generator.standard_normal(y.shape)), y.dtype)


def cast(x, dtype):
    """Round to a dtype by name, 16-bit ones to `Narrow`, complex ones to their parts."""
    dtype = np.empty(0, dtype).real.dtype
    return narrow(x, dtype) if dtype.itemsize == 2 else x.astype(dtype)


def directions(leaves, seed):
    """A random direction for every leaf."""
    generator = np.random.default_rng([seed, 2])
    return {name: np.asarray(generator.standard_normal(x.shape)) for name, x in leaves.items()}


def complex_step(component, call, v):
    """Derivative of everything that `component` gives along `v`, in extended precision.

    A step of 2^-200 leaves no truncation error, and scaling by it is exact.
    """
    step = math.ldexp(1.0, -200)
    stepped = {name: x.astype(np.clongdouble) + 1j * (step * v[name]) for name, x in call.leaves().items()}
    return component(call.with_leaves(stepped)), lambda y: np.asarray(y).imag / step
