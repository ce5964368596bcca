"""The one error that every refused checkpoint raises, and how it shows text that a stranger wrote."""

from contextlib import contextmanager

MOST_SHOWN = 80  # characters of a name or value: a message stays readable whatever a file holds
MOST_FAULTS = 20  # listed in one error


class CheckpointError(ValueError):
    """A checkpoint was refused; the message names the file, what was expected, and what came."""


def refusal(path, expected, got):
    """Compose the error of a refused file.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    expected : str
        What should have been there.
    got : str
        What was there.

    Returns
    -------
    CheckpointError
        The error, for the caller to raise.
    """
    return CheckpointError(f"{path}: expected {expected}, got {got}")


def shown(value):
    """Show a value from a file: quoted, control characters escaped, and short.

    Parameters
    ----------
    value : object
        Anything that JSON can hold.

    Returns
    -------
    str
        Its `ascii`, cut to 80 characters.
    """
    text = ascii(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def raise_faults(what, faults):
    """Raise one error that lists what is wrong, if anything is.

    Parameters
    ----------
    what : str
        The headline.
    faults : sequence of str
        The faults; the first 20 are listed and the rest counted.

    Raises
    ------
    CheckpointError
        If there is a fault.
    """
    if faults:
        more = [f"and {len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
        raise CheckpointError("\n  ".join([f"{what}:", *faults[:MOST_FAULTS], *more]))


@contextmanager
def naming(path):
    """Put the file's name in front of the message of every refusal inside.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Raises
    ------
    CheckpointError
        If the block raises one.
    """
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
