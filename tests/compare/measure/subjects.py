"""Recipes that timed processes build: honest programs, and opponents."""

import os
import sys
import time

import numpy as np

from compare.measure.subject import Subject

N = 48


def fresh():
    """Inputs with different values everywhere, the same on every call."""
    return {"x": np.linspace(-1.0, 2.0, N * N).reshape(N, N), "ids": np.arange(N)}


def product(inputs):
    """Two products, so that the result is not linear in the input."""
    y = inputs["x"] @ inputs["x"]
    return {"y": y, "gradients": {"x": y @ inputs["x"]}}


def _against_honest(step):
    return Subject("candidate", fresh, step, "numpy"), Subject("honest", fresh, product, "numpy")


def honest():
    return _against_honest(product)


class Cached:
    """Computes `n_honest` times, then gives its last result again."""

    def __init__(self, n_honest):
        self.n_left, self.last = n_honest, None

    def __call__(self, inputs):
        if self.n_left > 0:
            self.n_left -= 1
            self.last = product(inputs)
        return self.last


def cached_after_warm_up():
    return _against_honest(Cached(3))


def cached_from_the_start():
    return _against_honest(Cached(1))


class Lazy:
    """Computes while it is looked at, then returns what it allocates and nothing more."""

    def __init__(self):
        self.n_call = 0

    def __call__(self, inputs):
        self.n_call += 1
        if self.n_call <= 4:
            return product(inputs)
        return {"y": np.zeros((N, N)), "gradients": {"x": np.zeros((N, N))}}


def lazy():
    return _against_honest(Lazy())


class Random:
    """Never gives the same bits twice."""

    def __init__(self):
        self.generator = np.random.default_rng()

    def __call__(self, inputs):
        return self.generator.random(3) + product(inputs)["y"][0, :3]


def random():
    return _against_honest(Random())


def raising():
    def step(inputs):
        raise ArithmeticError("no such luck")

    return _against_honest(step)


def leaving():
    return _against_honest(lambda inputs: sys.exit(0))


def dying():
    return _against_honest(lambda inputs: os._exit(0))


def hanging():
    return _against_honest(lambda inputs: time.sleep(3600))


def hungry_for_threads():
    """Gives itself another number of threads while it is timed."""
    import threadpoolctl

    def step(inputs):
        threadpoolctl.threadpool_limits(limits=1)
        return product(inputs)

    return _against_honest(step)


def opaque_output():
    return _against_honest(lambda inputs: object())


def no_pair():
    return product
