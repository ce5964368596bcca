"""The one tolerance of these tests: ten standard deviations of the rounding that the dtype allows.

The component itself, run on spread arrays, says how far every element of every output and gradient may be off.
"""

import math

import numpy as np

from compare.interpretations.spread import Spread, spread
from compare.verdict.spread_rule import LIMIT
from tests.properties.component import cotangents, outputs


def spread_run(component, call, dtype=np.float64):
    """Run a component on spread arrays: outputs and gradients by name, each with value and sigma."""
    # Extended precision, because the square of a float64 below 1e-154 is 0, and so would be its variance.
    precision = np.longdouble if dtype == np.float64 else np.float64

    def lift(x):
        return spread(x if x.dtype.kind in "iub" else x.astype(precision), dtype, value_dtype=precision)

    y, pullback = component(call.map_arrays(lift))
    dy = cotangents(y, call.seed)
    exact = [Spread(part.astype(precision), None, part.dtype) for part in outputs(dy).values()]
    return outputs(y), component.gradients(pullback, tuple(exact) if isinstance(dy, tuple) else exact[0], call)


def both(spreads, others):
    """Spread arrays for the difference of two texts that compute the same, each of which rounds where it does."""
    return {name: Spread(x.value, x.sigma**2 + others[name].sigma ** 2, x.dtype) for name, x in spreads.items()}


def assert_close(got, want, sigma, *, name, n_rounded=2):
    """Require two results that both were rounded, or (`n_rounded=1`) one and the truth, to agree.

    Parameters
    ----------
    got, want : array
        The results.
    sigma : array
        The standard deviation of the rounding of one of them.
    name : str
        For the message.
    n_rounded : int
        The variances of so many roundings add up.
    """
    got, want = (np.asarray(x).astype(np.longdouble) for x in (got, want))
    assert got.shape == want.shape, f"{name}: expected shape {want.shape}, got {got.shape}"
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, want), err_msg=name)
    difference = np.where(finite, np.abs(np.where(finite, got, 0) - np.where(finite, want, 0)), 0)
    allowed = LIMIT * math.sqrt(n_rounded) * np.asarray(sigma)
    allowed = np.broadcast_to(allowed, difference.shape)
    beyond = ~(difference <= allowed)
    if np.any(beyond):
        excess = np.where(beyond, difference / np.maximum(allowed, np.finfo(np.float64).tiny), 0)
        worst = np.unravel_index(np.argmax(excess), excess.shape)
        raise AssertionError(
            f"{name}{[int(i) for i in worst]}: got {got[worst]}, want {want[worst]}, "
            f"off by {difference[worst]:.3g} where {allowed[worst]:.3g} is allowed"
        )


def assert_all_close(got, want, spreads, *, n_rounded=2):
    """Require dicts of results to agree; `spreads` has a spread array under each name."""
    assert got.keys() == want.keys(), f"expected {list(want)}, got {list(got)}"
    for name, result in got.items():
        assert_close(result, want[name], spreads[name].sigma, name=name, n_rounded=n_rounded)
