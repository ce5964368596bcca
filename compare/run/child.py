"""What a child process of `compare.run.pool` does: confine itself, run some functions, send what each returned."""

import os
import traceback

from compare.measure.message import message
from compare.run.limits import confine, end_by_itself, is_out_of_memory


def serve(pipe, limits, log, n_thread, calls):
    """Run functions one after the other and answer through a pipe.

    Parameters
    ----------
    pipe : multiprocessing.connection.Connection
        Takes ``(status, value or message)`` for each.
    limits : Limits
        What a function may use.
    log : str
        A file for whatever they print.
    n_thread : int
        Threads of every library.
    calls : list of (callable, tuple)
        Functions and their arguments.
    """
    os.setsid()  # a group of its own, so that the parent can end it with all that it started
    confine(limits, log)
    for function, arguments in calls:
        end_by_itself(limits.seconds)
        answer = _answer(limits, n_thread, function, arguments)
        try:
            pipe.send(answer)
        except Exception as error:  # the result itself cannot be sent
            pipe.send(("raised", message(error)))
        if answer[0] == "crashed":
            break  # what is left runs in a process that is not damaged
    pipe.close()
    os._exit(0)  # nothing here needs to be torn down


def _answer(limits, n_thread, function, arguments):
    from compare.measure.threads import set_threads

    set_threads(n_thread)
    try:
        return "done", function(*arguments)
    except SystemExit as error:
        return "crashed", f"exit({error.code if error.code is not None else ''}) was called, and there is no result"
    except BaseException as error:
        if is_out_of_memory(error):
            return "crashed", f"out of memory{_limit(limits)}: {error}"
        return "raised", f"{message(error)} ({_place(error)})"


def _limit(limits):
    return "" if limits.memory_bytes is None else f" (the limit is {limits.memory_bytes / 2**30:.3g} GiB)"


def _place(error):
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(where.filename)}:{where.lineno}"
