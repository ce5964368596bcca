"""Cases whose peers misbehave, for ``refcompare run --plugin hostile_cases``; the folder must be on the path."""

import ctypes
import inspect
import os
import signal
import subprocess
import sys
import time

import torch

from compare.cases.case import Case, Config, Inputs
from compare.measure.threads import thread_counts  # noqa: F401  (for children that must load torch first)
from refimpl.arrays import array_namespace


def inputs(generator, *, shape):
    return Inputs((generator.standard_normal(shape),))


def doubled(x, *, tag=""):
    array_namespace(x)
    return x * 2.0, lambda dy: (dy * 2.0,)


def honest(x, *, tag=""):
    return x * 2.0


def noted(x, *, tag=""):
    """Honest, and leaves a trace of every process that ran it; the fourth waits until a file lets it go on."""
    with open(os.environ["HOSTILE_LOG"], "a") as log:
        print(tag, os.getpid(), file=log)
    while tag == "c3" and not os.path.exists(os.environ["HOSTILE_LOG"] + ".go"):
        time.sleep(0.02)
    return x * 2.0


def raises(x):
    raise LookupError("nothing there")


def hangs(x):
    time.sleep(3600)


def spins_in_c(x):
    # Holds the interpreter lock: no Python signal handler and no thread of ours would ever run.
    ctypes.PyDLL(None).sleep(3600)


def aborts(x):
    os.abort()


def segfaults(x):
    ctypes.string_at(0)


def killed(x):
    os.kill(os.getpid(), signal.SIGKILL)


def exits_unseen(x):
    os._exit(0)


def exits(x):
    sys.exit(0)


def exits_and_leaves_a_child(x):
    # The child inherits every descriptor, so that no end of file tells of the parent's death.
    subprocess.Popen(["sleep", "3600"], close_fds=False)
    os._exit(0)


def says_why(x):
    print("the reason is cheese", file=sys.stderr, flush=True)
    os._exit(7)


def hoards(x):
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1) * (1 << 24)))


def hoards_tensors(x):
    return torch.ones(1 << 44)


def recurses(x):
    return recurses(x)


def floods(x):
    for _ in range(1000):
        os.write(1, b"flood\n" * 1000)
        print("flood" * 1000, file=sys.stderr)
    return x * 2.0


def fills_the_disk(x):
    with open(os.environ["HOSTILE_LOG"], "wb") as file:
        for _ in range(1000):
            file.write(bytes(1 << 20))
    return x * 2.0


def nan(x):
    return x * float("nan")


def zeros(x):
    return x * 0.0


def wrong_dtype(x):
    return x.double() * 2.0


def mutates(x):
    y = x * 2.0
    x.data.mul_(3.0)
    return y


def crashes_when_timed(x, *, tag=""):
    # Only the processes that time are served by the bench.
    if any("bench" in frame.filename for frame in inspect.stack()):
        os.abort()
    return x * 2.0


def returns_a_lambda():
    return lambda: 0


EXPECTED = {
    "raises": ("ERROR", "LookupError: nothing there"),
    "recurses": ("ERROR", "RecursionError"),
    "fills_the_disk": ("ERROR", "File too large"),
    "hangs": ("TIMEOUT", "no result within"),
    "spins_in_c": ("TIMEOUT", "no result within"),
    "aborts": ("CRASH", "SIGABRT"),
    "segfaults": ("CRASH", "SIGSEGV"),
    "killed": ("CRASH", "SIGKILL"),
    "exits_unseen": ("CRASH", "exit status 0 and no result"),
    "exits_and_leaves_a_child": ("CRASH", "exit status 0 and no result"),
    "exits": ("CRASH", r"exit\(0\) was called"),
    "says_why": ("CRASH", "exit status 7 and no result; its last output: the reason is cheese"),
    "hoards": ("CRASH", r"out of memory \(the limit is 0.5 GiB\)"),
    "hoards_tensors": ("CRASH", "out of memory"),
    "floods": ("PASS", ""),
    "honest": ("PASS", ""),
    "nan": ("FAIL", "output y"),
    "zeros": ("FAIL", "sigma from the truth"),
    "wrong_dtype": ("FAIL", "expected dtype float32, got float64"),
    "mutates": ("FAIL", "changed one of its inputs"),
}


ONLY = (Config("only", {"shape": (3, 4)}),)


def _case(name, peer, configs=ONLY):
    return Case(
        name=name, section="layers", title=name, reference=doubled, inputs=inputs, configs=configs,
        peers={"torch": peer}, dtypes=("float32",), oracles=(),
    )  # fmt: skip


CASES = [
    *(_case(name, globals()[name]) for name in EXPECTED),
    _case("noted", noted, tuple(Config(f"c{i}", {"shape": (3, 4)}, {"tag": f"c{i}"}) for i in range(8))),
    _case("timed", honest, (Config("only", {"shape": (30, 40)}, measured=True),)),
    _case("crash_when_timed", crashes_when_timed, (Config("only", {"shape": (30, 40)}, {"tag": "x"}, measured=True),)),
]
