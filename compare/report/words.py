"""Numbers as people read them, the same in every form of the report."""

import math
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

ABSENT = "–"
TWO_DIGITS_UP = Context(prec=2, rounding=ROUND_CEILING)


def number(value, digits=3):
    """Write a number with few digits.

    Parameters
    ----------
    value : float or None
        None is what was not measured.
    digits : int, optional
        Significant digits.

    Returns
    -------
    str
        For example ``"0.0123"``, ``"4.5e-07"``, ``"inf"``, ``"–"``.
    """
    if value is None:
        return ABSENT
    return f"{value:.{digits}g}"


def tolerance(value):
    """Write a tolerance rounded up, so that the number shown would itself pass.

    Parameters
    ----------
    value : float or None
        A tolerance that is not negative.

    Returns
    -------
    str
        Two significant digits.
    """
    if value is None or value == 0 or not math.isfinite(value):
        return number(value, 2)
    # The shortest decimal that is this float: 2e-16 stays 2e-16, though its binary value is a little more.
    return number(float(TWO_DIGITS_UP.plus(Decimal(repr(float(value))))), 2)


def sigmas(value):
    """Write an error in units of sigma, where a tenth is more than anyone needs.

    Parameters
    ----------
    value : float or None
        At least 0, or NaN.

    Returns
    -------
    str
        For example ``"2.1"``, ``"8500"``, ``"3.2e+07"``, ``"nan"``; ``"0"`` only where there is no error.
    """
    if value is None or value == 0 or not value < 1e5:
        return number(value, 2)
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def pair(reference, peer):
    """Write the errors of both sides.

    Parameters
    ----------
    reference, peer : float or None
        In units of sigma.

    Returns
    -------
    str
        ``"reference / peer"``, or one dash where both are absent.
    """
    if reference is None and peer is None:
        return ABSENT
    return f"{sigmas(reference)} / {sigmas(peer)}"


def ratio(value):
    """Write reference over peer.

    Parameters
    ----------
    value : float or None
        A ratio.

    Returns
    -------
    str
        For example ``"1.80×"``.
    """
    if value is None:
        return ABSENT
    if 100 <= value < 1e4:
        return f"{value:.0f}×"
    return f"{value:.2f}×" if 0.1 <= value < 100 else f"{number(value, 2)}×"


def scaled(value, unit, base=1000):
    """Write a quantity with a prefix.

    Parameters
    ----------
    value : float or None
        At least 0.
    unit : str
        For example ``"B"`` or ``"FLOP/s"``.
    base : {1000, 1024}, optional
        Decimal or binary prefixes.

    Returns
    -------
    str
        For example ``"1.2 MiB"``.
    """
    if value is None:
        return ABSENT
    prefixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi"] if base == 1024 else ["", "k", "M", "G", "T", "P", "E"]
    power = 0
    while value >= base and power < len(prefixes) - 1:
        value, power = value / base, power + 1
    return f"{value:.4g} {unit}" if power == 0 else f"{value:.3g} {prefixes[power]}{unit}"


def seconds(value):
    """Write a duration.

    Parameters
    ----------
    value : float or None
        Seconds.

    Returns
    -------
    str
        For example ``"2 min 3 s"``, ``"1.2 ms"``.
    """
    if value is None:
        return ABSENT
    if value >= 60:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s"
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def median_ratio(ratios):
    """Find the middle of some ratios.

    Parameters
    ----------
    ratios : iterable of float
        Possibly empty.

    Returns
    -------
    float or None
        The geometric median, so that 2 and 1/2 average to 1.
    """
    usable = [value for value in ratios if value and math.isfinite(value)]
    return float(np.exp(np.median(np.log(usable)))) if usable else None


def printable(text):
    """Replace control characters, which could steer a terminal or break a table.

    Parameters
    ----------
    text : object
        Anything with a string form.

    Returns
    -------
    str
        One line.
    """
    text = str(text)
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
