"""A child that raises, dies or hangs is reported and ended."""

import os
import signal
import sys
import time

import pytest

from compare.measure.worker import Worker, WorkerError


class Target:
    def echo(self, value):
        return value

    def group(self):
        return os.getpid(), os.getpgid(0)

    def raises(self):
        raise ValueError("of this kind")

    def leaves(self):
        sys.exit(0)

    def dies(self):
        os._exit(3)

    def crashes(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def hangs(self):
        time.sleep(3600)

    def leaves_a_child_behind(self):
        pid = os.fork()
        if pid == 0:
            time.sleep(3600)
        return pid


@pytest.fixture
def worker():
    one = Worker(Target, timeout_s=250.0)
    yield one
    one.end()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:  # dead, but not yet collected by its parent
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def ended(pid):
    """Death by a signal arrives when the system gets to it."""
    for _ in range(1000):
        if not is_alive(pid):
            return True
        time.sleep(0.01)
    return False


def test_replies_and_the_parents_clock(worker):
    assert worker.ask("echo", [1, 2]) == [1, 2]
    value, seconds = worker.timed("echo", "again")
    assert value == "again" and seconds > 0


def test_the_child_leads_a_group_of_its_own(worker):
    pid, group = worker.ask("group")
    assert pid == group != os.getpgid(0)


@pytest.mark.parametrize(("command", "kind", "message"), [
    ("raises", "raised", r"ValueError: of this kind \(test_worker.py:\d+\)"),
    ("leaves", "raised", "SystemExit: 0"),
    ("dies", "died", "the process ended during 'dies' with exit status 3"),
    ("crashes", "died", f"ended during 'crashes' with exit status -{signal.SIGSEGV:d}"),
    ("unknown", "raised", "AttributeError"),
])
def test_failures_are_named(worker, command, kind, message):
    with pytest.raises(WorkerError, match=message) as failure:
        worker.ask(command)
    assert failure.value.kind == kind
    with pytest.raises(WorkerError) as failure:  # it has ended, and says so at once
        worker.ask("echo", 1)
    assert failure.value.kind == "died"


def test_a_hanging_child_is_ended():
    worker = Worker(Target, timeout_s=250.0)
    pid, _ = worker.ask("group")
    worker._timeout_s = 0.2
    with pytest.raises(WorkerError, match=r"no reply to 'hangs' within 0.2 s") as failure:
        worker.ask("hangs")
    assert failure.value.kind == "hung" and ended(pid)


def test_what_the_child_started_ends_with_it(worker):
    grandchild = worker.ask("leaves_a_child_behind")
    with pytest.raises(WorkerError):
        worker.ask("dies")
    assert ended(grandchild)


def test_a_command_that_cannot_be_sent_is_the_callers_error(worker):
    with pytest.raises((AttributeError, TypeError)):
        worker.ask("echo", lambda: None)
    assert worker.ask("echo", 1) == 1


def test_a_target_that_cannot_be_made_is_a_failure():
    with pytest.raises(WorkerError) as failure:
        Worker(Unmakeable, timeout_s=250.0).ask("echo", 1)
    assert failure.value.kind == "died"


class Unmakeable:
    def __init__(self):
        raise RuntimeError
