"""Commands that end at Ctrl-C with one line."""

import functools
import sys

INTERRUPTED = 130


def interruptible(command):
    """Let Ctrl-C end a command with one line on the standard error, and the status of a shell.

    Parameters
    ----------
    command : callable
        Returns an exit status.

    Returns
    -------
    callable
        The same with the same options.
    """

    @functools.wraps(command)
    def variant(*args, **keywords):
        try:
            return command(*args, **keywords)
        except KeyboardInterrupt:
            print("refcompare: interrupted", file=sys.stderr)
            return INTERRUPTED

    return variant
