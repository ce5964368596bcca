"""Settings are plain values: checked by name; and numbers, which must be free of a dtype of their own.

A scalar of a library has one: float32 times ``numpy.float64(0.5)`` is float64, and the dtype that went in would not
come out.
"""

import math
from numbers import Integral, Real

from refimpl.arrays.check import check_setting


def number(name, value, *, at_least=-math.inf, at_most=math.inf, above=-math.inf):
    """Require a finite number, and take its dtype from it.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.
    at_least, at_most : float, optional
        The smallest and the largest number allowed.
    above : float, optional
        What it must exceed.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        If it is none, not finite, or out of range.
    """
    check_setting(name, value, _is_a(Real, value), "a number")
    if not math.isinf(value):  # infinite is worse than out of range
        fits = at_least <= value <= at_most and value > above
        check_setting(name, value, fits, _range_text(at_least, at_most, above))
    check_setting(name, value, math.isfinite(value), "finite")
    return float(value)


def integer(name, value, *, at_least=-math.inf, below=math.inf):
    """Require a whole number.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.
    at_least : int, optional
        The smallest number allowed.
    below : int, optional
        The first number not allowed.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ValueError
        If it is no integer, or out of range.
    """
    check_setting(name, value, _is_a(Integral, value), "an integer")
    allowed = f"at least {at_least}" if below == math.inf else f"in [{at_least}, {below})"
    check_setting(name, value, at_least <= value < below, allowed)
    return int(value)


def check_size(name, value, *, at_least=1):
    """Require a size, or an id, of a configuration: an int of Python, as JSON has them.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.
    at_least : int, optional
        The smallest number allowed.

    Raises
    ------
    ValueError
        If it is no int, or too small.
    """
    fits = _is_a(int, value) and value >= at_least
    check_setting(name, value, fits, f"an integer of at least {at_least}")


def check_positive(name, value):
    """Require a positive number of a configuration, such as the eps of a norm.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.

    Raises
    ------
    ValueError
        If it is no int or float of Python, not positive, or infinite.
    """
    check_setting(name, value, _is_a((int, float), value) and 0 < value < math.inf, "a positive finite number")


def check_flag(name, value):
    """Require a setting to be true or false.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.

    Raises
    ------
    ValueError
        If it is neither, though it may count as one of them.
    """
    check_setting(name, value, isinstance(value, bool), "True or False")


def check_choice(name, value, choices):
    """Require one of a few values.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : object
        What came.
    choices : collection
        All that there are.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    check_setting(name, value, value in tuple(choices), f"one of {', '.join(map(str, choices))}")


def check_multiple(name, value, **of):
    """Require one size to be a multiple of another.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : int
        What came.
    **of : int
        The other size, under its name.

    Raises
    ------
    ValueError
        If it is none.
    """
    for unit, size in of.items():
        check_setting(name, value, value % size == 0, f"a multiple of {unit} = {size}")


def check_below(name, value, **limits):
    """Require a number to be smaller than others, as an id is smaller than how many there are.

    Parameters
    ----------
    name : str
        The setting's name, for the message.
    value : int
        What came.
    **limits : int
        The first numbers that are not allowed, under their names.

    Raises
    ------
    ValueError
        If it is not below all of them.
    """
    for limit, size in limits.items():
        check_setting(name, value, value < size, f"below {limit} = {size}")


def _is_a(kind, value):
    return isinstance(value, kind) and not isinstance(value, bool)


def _range_text(at_least, at_most, above):
    if at_most < math.inf:
        return f"in [{at_least:g}, {at_most:g}]"
    if at_least > -math.inf:
        return f"at least {at_least:g}"
    if above > -math.inf:
        return "positive" if above == 0.0 else f"above {above:g}"
    return "finite"
