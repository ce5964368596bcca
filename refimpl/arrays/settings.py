"""Settings are plain numbers: checked by name, and free of a dtype of their own.

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
