import os
import time
from multiprocessing.context import ForkServerProcess
from types import SimpleNamespace

import pytest

from compare.run import pool
from compare.run.limits import Limits
from compare.run.pool import run_isolated

LIMIT = 1000.0  # seconds on the clock of the tests


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a test says so: on a busy machine, too, nothing honest is late."""
    shown = SimpleNamespace(now=0.0)
    monkeypatch.setattr(pool, "time", SimpleNamespace(monotonic=lambda: shown.now, monotonic_ns=time.monotonic_ns))
    return shown


def run(*tasks, n_worker=2, **limits):
    return dict(run_isolated(tasks, n_worker=n_worker, limits=Limits(**limits)))


def test_results_come_back_from_processes_of_their_own():
    found = run(*((i, os.getpid, ()) for i in range(5)))
    assert {outcome.status for outcome in found.values()} == {"done"}
    assert len({outcome.value for outcome in found.values()} | {os.getpid()}) == 6


def test_nothing_to_do_is_nothing_done():
    assert run() == {}


def test_one_that_hangs_is_ended_and_the_others_go_on(clock):
    tasks = [("hangs", time.sleep, (3600,)), *((i, os.getpid, ()) for i in range(3))]
    statuses = []
    for _, outcome in run_isolated(tasks, n_worker=2, limits=Limits(LIMIT)):
        statuses.append(outcome.status)
        if len(statuses) == 3:
            clock.now += LIMIT
    assert statuses == ["done"] * 3 + ["hung"]


def test_nobody_waits_for_the_libraries_at_his_own_expense(clock, monkeypatch):
    """The first child starts when the fork server has imported them, however long that takes."""
    start = ForkServerProcess.start

    def after_a_while(process):
        start(process)
        clock.now += 2 * LIMIT

    monkeypatch.setattr(ForkServerProcess, "start", after_a_while)
    assert run(("first", os.getpid, ()), seconds=LIMIT)["first"].status == "done"


def test_what_a_unit_breaks_is_whole_for_the_next():
    found = dict(run_isolated(
        [("leave", os.chdir, ("/",)), ("look", os.getcwd, ())], n_worker=1, limits=Limits()
    ))  # fmt: skip
    assert found["look"].value == os.getcwd() != "/"


def test_a_result_that_cannot_be_pickled_is_no_result():
    import hostile_cases

    (outcome,) = run(("lambda", hostile_cases.returns_a_lambda, ())).values()
    assert outcome.status == "raised" and "pickle" in outcome.message


def test_children_end_when_the_caller_stops_listening():
    running = run_isolated(
        [("first", os.getpid, ()), ("second", time.sleep, (3600,))], n_worker=2, limits=Limits()
    )
    next(running)
    running.close()  # waits for the children: it would not return if one went on


@pytest.mark.parametrize("n_thread", [1, 2])
def test_every_library_has_the_threads_asked_for(n_thread):
    import hostile_cases

    ((_, outcome),) = run_isolated(
        [("count", hostile_cases.thread_counts, ())], n_worker=1, limits=Limits(), n_thread=n_thread
    )
    assert set(outcome.value.values()) == {n_thread} and "torch" in outcome.value


def grouped(*tasks, **limits):
    return dict(in_groups(tasks, **limits))


def in_groups(tasks, **limits):
    return run_isolated(tasks, n_worker=2, limits=Limits(**limits), group=lambda key: key[0])


def test_neighbours_of_a_group_share_a_child():
    found = grouped(*(((letter, i), os.getpid, ()) for letter in "ab" for i in range(3)))
    of_a, of_b = ({found[letter, i].value for i in range(3)} for letter in "ab")
    assert len(of_a) == len(of_b) == 1 and of_a != of_b


@pytest.mark.parametrize(
    ("function", "arguments", "status"),
    [(os._exit, (3,), "crashed"), (os.abort, (), "crashed"), (exit, (0,), "crashed"), (time.sleep, (3600,), "hung")],
)
def test_one_that_ends_its_child_does_not_take_its_group_along(function, arguments, status, clock):
    tasks = [(("a", 0), os.getpid, ()), (("a", 1), function, arguments), *((("a", i), os.getpid, ()) for i in (2, 3))]
    found = {}
    for key, outcome in in_groups(tasks, seconds=LIMIT):
        found[key] = outcome
        if key == ("a", 0) and status == "hung":
            clock.now += LIMIT
    assert found["a", 1].status == status
    assert all(found["a", i].status == "done" for i in (0, 2, 3))
    assert found["a", 0].value != found["a", 2].value == found["a", 3].value


def test_one_that_raises_leaves_the_child_to_its_group():
    found = grouped((("a", 0), int, ("x",)), (("a", 1), os.getpid, ()))
    assert found["a", 0].status == "raised" and found["a", 1].status == "done"


def test_time_is_counted_for_each_of_a_group(clock):
    statuses = set()
    # Each sleeps long enough for the parent to look at the clock before it answers.
    for _, outcome in in_groups([(("a", i), time.sleep, (0.2,)) for i in range(4)], seconds=LIMIT):
        statuses.add(outcome.status)
        clock.now += 0.6 * LIMIT
    assert statuses == {"done"}
