"""What a timed process does, called directly: commands, threads, and results checked after timing."""

import gc
import pickle

import numpy as np
import pytest

from compare.measure.bench import Bench
from compare.measure.nesting import altered
from compare.measure.threads import limited_threads
from tests.compare.measure import subjects


@pytest.fixture
def bench():
    with limited_threads(1):
        one = Bench()
        yield one
        one.close()
    gc.unfreeze()


def timed(bench, recipe, n_pair=2, n_call=3):
    bench.open(pickle.dumps(recipe), 1)
    for i in range(n_pair):
        for side in "ab":
            bench.prepare(side, n_call, "altered" if i % 2 == 0 else "plain")
            bench.run()
    return {side: bench.verify(side) for side in "ab"}


def test_honest_programs_are_unchanged(bench):
    assert timed(bench, subjects.honest) == {"a": "unchanged", "b": "unchanged"}


@pytest.mark.parametrize(("recipe", "outcome"), [
    (subjects.cached_after_warm_up, "changed"),
    (subjects.cached_from_the_start, "input ignored"),
    (subjects.lazy, "changed"),
    (subjects.random, "not repeatable"),
])
@pytest.mark.parametrize("n_pair", [1, 2, 3])
def test_a_program_that_does_not_compute_is_caught(bench, recipe, outcome, n_pair):
    assert timed(bench, recipe, n_pair) == {"a": outcome, "b": "unchanged"}


def test_every_call_of_a_batch_has_inputs_of_its_own(bench):
    bench.open(pickle.dumps(subjects.honest), 1)
    bench.prepare("a", 5, "altered")
    arrays = [inputs["x"] for inputs in bench._inputs]
    assert len({id(x) for x in arrays}) == 5
    assert not any(np.shares_memory(x, y) for i, x in enumerate(arrays) for y in arrays[:i])
    assert all(np.array_equal(x, arrays[0]) for x in arrays[:-1])
    assert np.array_equal(arrays[-1], altered(arrays[0]))


def test_threads_are_reported(bench):
    assert set(bench.open(pickle.dumps(subjects.honest), 1).values()) == {1}


def test_a_program_that_changes_its_threads_is_caught(bench):
    with pytest.raises(RuntimeError, match="every thread pool must have 2 threads"):
        bench.open(pickle.dumps(subjects.hungry_for_threads), 2)


def test_a_recipe_must_give_two_subjects(bench):
    with pytest.raises(TypeError, match="recipe must return two Subjects"):
        bench.open(pickle.dumps(subjects.no_pair), 1)


def test_outputs_that_cannot_be_compared_are_refused(bench):
    with pytest.raises(TypeError, match="step must return arrays, numbers or None, got object"):
        bench.open(pickle.dumps(subjects.opaque_output), 1)
