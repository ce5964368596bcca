"""What an exception says, in a form that a report can hold."""

LONGEST = 1000


def message(error):
    """Put an exception in words.

    Parameters
    ----------
    error : BaseException
        Raised by code that may be anybody's.

    Returns
    -------
    str
        Its class and what it says, cut short: a few exceptions say all that they hold, and some cannot be printed.
    """
    try:
        said = str(error)
    except Exception as failure:
        said = f"its message cannot be shown: {type(failure).__name__}"
    if len(said) > LONGEST:
        said = f"{said[:LONGEST]}… ({len(said)} characters)"
    return f"{type(error).__name__}: {said}"
