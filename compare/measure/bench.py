"""What runs inside a timed process: it obeys the parent's commands and never looks at a clock."""

import gc
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

from compare.measure.nesting import altered, fingerprint
from compare.measure.subject import Subject
from compare.measure.threads import check_threads, set_threads, thread_counts

# How often a step whose result changed is asked again, to tell a program that changed from one that
# never gives the same bits twice.
N_REPEAT = 4


class Bench:
    """Two subjects in one process, and what they answered before anything was timed."""

    def __init__(self):
        self._n_module = 0
        self._forget()

    def _forget(self):
        self._subjects: dict[str, Subject] = {}
        self._recipe: Callable[[], tuple[Subject, Subject]] | None = None
        self._before: dict[tuple[str, str], str] = {}
        self._inputs: list = []
        self._last: dict[tuple[str, str], object] = {}
        self._running = ("", "")
        self._n_thread = 0

    def idle(self) -> None:
        """Do nothing: its round trip is the latency of the pipe."""

    def open(self, pickled_recipe: bytes, n_thread: int) -> dict[str, int]:
        """Build both subjects, set the threads, and run each step on two different inputs.

        Parameters
        ----------
        pickled_recipe : bytes
            A callable that returns the subjects a and b.
        n_thread : int
            Threads for every pool.

        Returns
        -------
        dict of str to int
            The threads that every pool has after the first calls.

        Raises
        ------
        TypeError
            When the recipe gives anything but two subjects.
        """
        self.close()
        self._recipe, self._n_thread = pickle.loads(pickled_recipe), n_thread
        self._build()
        set_threads(n_thread)
        for side in self._subjects:
            for kind in ("plain", "altered"):
                self._before[side, kind] = self._answer(side, kind)
        counts = thread_counts()
        check_threads(n_thread, counts)
        if len(sys.modules) > self._n_module:
            # What was imported is here to stay: it is not searched for garbage again before every batch.
            gc.freeze()
            self._n_module = len(sys.modules)
        return counts

    def _build(self):
        made = self._recipe()
        if not (isinstance(made, tuple) and len(made) == 2 and all(isinstance(s, Subject) for s in made)):
            raise TypeError(f"recipe must return two Subjects, got {made!r}")
        self._subjects = dict(zip("ab", made, strict=True))

    def _answer(self, side, kind):
        return fingerprint(self._subjects[side].step(self._fresh(side, kind)))

    def _fresh(self, side, kind):
        inputs = self._subjects[side].fresh()
        return altered(inputs) if kind == "altered" else inputs

    def prepare(self, side: str, n_call: int, kind: str) -> None:
        """Make the inputs of the next batch, outside the timed part.

        Parameters
        ----------
        side : {"a", "b"}
            Which subject runs next.
        n_call : int
            How many calls the batch has; each gets inputs of its own.
        kind : {"plain", "altered"}
            Which inputs the last call gets. The subject cannot tell which call is looked at.
        """
        self._inputs.clear()
        gc.collect()
        self._inputs = [self._fresh(side, "plain") for _ in range(n_call - 1)] + [self._fresh(side, kind)]
        self._running = (side, kind)
        _synchronise(self._subjects[side].library)

    def run(self) -> None:
        """Run the batch: this is what the parent times."""
        subject = self._subjects[self._running[0]]
        step = subject.step
        for inputs in self._inputs:
            outputs = step(inputs)
        _synchronise(subject.library)
        self._last[self._running] = outputs

    def verify(self, side: str) -> str:
        """Compare the last timed results with the ones from before, bit for bit.

        Parameters
        ----------
        side : {"a", "b"}
            Which subject.

        Returns
        -------
        str
            "unchanged"; "changed" when a timed call gave another result for the same input; "input
            ignored" when two different inputs gave one result; "not repeatable" when the step, built
            anew, gives different bits in a row, so that nothing can be concluded.
        """
        check_threads(self._n_thread, thread_counts())
        timed = {kind: out for (which, kind), out in self._last.items() if which == side}
        if all(fingerprint(out) == self._before[side, kind] for kind, out in timed.items()):
            same = self._before[side, "plain"] == self._before[side, "altered"]
            return "input ignored" if same and self._inputs_differ(side) else "unchanged"
        self._build()
        answers = {self._answer(side, "plain") for _ in range(N_REPEAT)}
        return "changed" if len(answers) == 1 else "not repeatable"

    def _inputs_differ(self, side):
        """Opaque or all-zero inputs cannot be altered; then there is nothing to ignore."""
        try:
            return fingerprint(self._fresh(side, "plain")) != fingerprint(self._fresh(side, "altered"))
        except TypeError:
            return False

    def close(self) -> None:
        """Forget the subjects and everything they made."""
        self._forget()
        gc.collect()


def _synchronise(library: str) -> None:
    """Wait for a device: its calls return before the work is done."""
    torch = sys.modules.get("torch")
    if library == "cupy":
        sys.modules["cupy"].cuda.get_current_stream().synchronize()
    elif library == "torch" and torch.cuda.is_available():
        torch.cuda.synchronize()


def serve(connection: Connection, make_target: Callable[[], object]) -> None:
    """Obey commands until the parent closes the pipe.

    Parameters
    ----------
    connection : Connection
        Brings tuples (method, *arguments) and takes ("done", value) or ("raised", message).
    make_target : callable
        Makes the object whose methods are the commands.
    """
    os.setsid()  # a group of its own, so that the parent can end it with all its children
    gc.disable()
    target = make_target()
    connection.send("ready")
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            return
        try:
            reply = ("done", getattr(target, method)(*arguments))
        except BaseException as error:  # also SystemExit: a subject must not end the process unseen
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(where.filename)}:{where.lineno}"
            reply = ("raised", f"{type(error).__name__}: {error} ({place})")
        connection.send(reply)
