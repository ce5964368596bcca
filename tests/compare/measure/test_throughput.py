"""Timers: the loop on a simulated clock, and real children that misbehave. No wall time is judged."""

import pickle
from functools import partial

import pytest

from compare.measure.paired import compare_pairs
from compare.measure.throughput import BATCH_S, FEWEST_PAIRS, MOST_CALLS, ThroughputFailure, Timers, time_pairs
from tests.compare.measure import subjects


class SimulatedWorker:
    """A process on a clock of its own: each call takes `seconds[side]`, and all slows down steadily."""

    def __init__(self, seconds, drift=0.0):
        self.seconds, self.drift, self.now, self.log = seconds, drift, 0.0, []

    def clock(self):
        return self.now

    def ask(self, *command):
        return self.timed(*command)[0]

    def timed(self, name, *arguments):
        self.log.append((name, *arguments))
        took = 1e-4
        if name == "prepare":
            self.side, self.n_call, _ = arguments
        if name == "run":
            took += self.n_call * self.seconds[self.side] * (1 + self.drift * self.now)
        self.now += took
        return {"open": {"torch": 2}, "verify": "unchanged"}.get(name), took


def simulated(seconds, budget_s=1.0, drift=0.0):
    worker = SimulatedWorker(seconds, drift)
    return time_pairs(worker, b"", 2, budget_s, clock=worker.clock), worker


def test_batches_are_long_enough_and_inputs_are_made_outside():
    run, worker = simulated({"a": 3e-5, "b": 7e-4})
    assert run.calls["a"] * 3e-5 >= BATCH_S - 1e-4 and run.calls["b"] * 7e-4 >= BATCH_S - 1e-4
    runs = [i for i, command in enumerate(worker.log) if command[0] == "run"]
    assert all(worker.log[i - 1][0] == "prepare" for i in runs)
    assert worker.log[-3:] == [("verify", "a"), ("verify", "b"), ("close",)]


def test_pairs_are_interleaved_and_led_in_turn():
    run, worker = simulated({"a": 0.03, "b": 0.03}, budget_s=0.5)
    order = [command[1] for command in worker.log if command[0] == "prepare"]
    assert "".join(order[2:]) == ("abba" * len(run.pairs))[: 2 * len(run.pairs)]


def test_the_budget_is_kept():
    run, worker = simulated({"a": 0.03, "b": 0.03}, budget_s=0.5)
    assert len(run.pairs) == 7 and worker.now <= 0.5 + 1e-3
    # Seven pairs, and one batch of either side that showed that a single call is long enough.
    assert run.measured_s == pytest.approx(8 * 0.0602, rel=2**-40)  # sums of a few rounded numbers


def test_slow_programs_get_enough_pairs_for_a_verdict():
    run, _ = simulated({"a": 5.0, "b": 9.0}, budget_s=1.0)
    assert compare_pairs([run.pairs, run.pairs]).verdict == "faster"
    assert len(run.pairs) == FEWEST_PAIRS and run.calls == {"a": 1, "b": 1}


def test_very_quick_programs_stop_at_a_bounded_number_of_inputs():
    run, _ = simulated({"a": 1e-8, "b": 1e-8}, budget_s=0.05)
    assert run.calls == {"a": MOST_CALLS, "b": MOST_CALLS}


def test_drift_does_not_favour_a_side():
    """A clock that slows down by half over the run: ten percent is found, and itself is not."""
    for ratio, verdict in [(1.0, "equivalent"), (1.1, "slower"), (1 / 1.1, "faster")]:
        run, _ = simulated({"a": 0.025 * ratio, "b": 0.025}, budget_s=3.0, drift=0.15)
        assert compare_pairs([run.pairs]).verdict == verdict


@pytest.fixture(scope="module")
def timers():
    with Timers(n_process=2, n_thread=1, timeout_s=250.0) as pool:
        yield pool


def short(timers, recipe):
    return timers.pair(recipe, budget_s=0.1)


def test_a_row_has_everything(timers):
    row = short(timers, subjects.honest)
    assert row.outputs == {"a": "unchanged", "b": "unchanged"}
    assert row.processes == 2 and set(row.thread_counts.values()) == {1} and row.n_thread == 1
    assert row.comparison.pairs >= 2 and row.latency_s > 0
    assert 0 < row.measured_s <= row.total_s


@pytest.mark.parametrize(("recipe", "outcome"), [
    (subjects.cached_after_warm_up, "changed"),
    (subjects.cached_from_the_start, "input ignored"),
    (subjects.lazy, "changed"),
    (subjects.random, "not repeatable"),
])
def test_a_program_that_does_not_compute_is_flagged(timers, recipe, outcome):
    assert short(timers, recipe).outputs == {"a": outcome, "b": "unchanged"}


@pytest.mark.parametrize(("recipe", "kind", "message"), [
    (subjects.raising, "raised", "ArithmeticError: no such luck"),
    (subjects.leaving, "raised", "SystemExit"),
    (subjects.dying, "died", "exit status 0"),
    (subjects.no_pair, "raised", "recipe must return two Subjects"),
    (subjects.opaque_output, "raised", "step must return arrays"),
    (partial(int, "x"), "raised", "ValueError"),
])
def test_failures_are_results_and_the_pool_goes_on(timers, recipe, kind, message):
    failure = short(timers, recipe)
    assert isinstance(failure, ThroughputFailure) and failure.kind == kind and message in failure.message
    assert short(timers, subjects.honest).processes == 2


def test_a_hanging_program_is_given_up():
    with Timers(n_process=1, n_thread=1, timeout_s=1.0) as pool:
        # The first row starts the child within the limit, or says that it did not.
        failure = short(pool, subjects.hanging)
    assert failure.kind == "hung" and "within 1 s" in failure.message


def test_processes_are_reused(timers):
    short(timers, subjects.honest)
    before = [worker._process.pid for worker in timers._workers]
    short(timers, subjects.honest)
    assert [worker._process.pid for worker in timers._workers] == before


def test_a_recipe_that_cannot_be_sent_is_the_callers_error(timers):
    with pytest.raises((AttributeError, pickle.PicklingError)):
        timers.pair(lambda: None)


def test_no_process_is_left_behind():
    with Timers(n_process=1, n_thread=1) as pool:
        short(pool, subjects.honest)
        worker = pool._workers[0]
    assert worker._process.exitcode is not None
