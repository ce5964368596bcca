"""How far a child process is, shown by a bar in the terminal."""

import threading
from contextlib import contextmanager
from multiprocessing import Pipe


@contextmanager
def watched(name):
    """Show a bar while the work inside goes on; none where the standard error is no terminal.

    Parameters
    ----------
    name : str
        What stands before it.

    Yields
    ------
    multiprocessing.connection.Connection
        Takes pairs of integers: how many steps are through, and of how many.
    """
    from tqdm import tqdm

    here, there = Pipe(duplex=False)
    with here, there, tqdm(desc=name, unit="stage", disable=None, leave=False) as bar:
        thread = threading.Thread(target=_draw, args=(here, bar), daemon=True)
        thread.start()
        try:
            yield there
        finally:
            there.send(None)
            thread.join()


def _draw(here, bar):
    while said := here.recv():
        through, bar.total = said
        bar.update(through - bar.n)
