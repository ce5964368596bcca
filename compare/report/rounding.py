"""How many digits of the error figures a report keeps: seventeen would be most of the file and say nothing more."""

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context

UP = Context(prec=6, rounding=ROUND_CEILING)
NEAREST = Context(prec=6, rounding=ROUND_HALF_EVEN)
# Nine digits tell any two float32 apart, and so any two of every narrower dtype.
VALUE = Context(prec=9, rounding=ROUND_HALF_EVEN)
# Upwards, so that no error looks smaller than it is, what is beyond a limit stays beyond it, and the
# tolerance written would itself pass.
CONTEXTS = {
    **dict.fromkeys(("sigma_max", "sigma_q999", "ulp_max", "abs_max", "rel_max", "min_tolerance"), UP),
    "cosine": NEAREST,
}
VALUES = dict.fromkeys(("worst_value", "worst_truth"), VALUE)
EXACT = frozenset({"float64", "longdouble"})  # dtypes whose values need all their digits


def round_figures(report):
    """Round the error figures of a report, in place.

    Parameters
    ----------
    report : dict
        An encoded and valid report.

    Notes
    -----
    Errors and tolerances go up to six significant digits, cosines to the nearest six, the two values of the worst
    element to the nearest nine where the tensor is narrower than float64. Zero, integers and what is not finite
    stay.  Rounding twice changes nothing.
    """
    for row in report["cases"]:
        for kind in ("outputs", "gradients"):
            for tensors in row[kind].values():
                for error in tensors.values():
                    _round(error)


def _round(error):
    contexts = CONTEXTS if error["dtype"] in EXACT else CONTEXTS | VALUES
    for name, context in contexts.items():
        value = error[name]
        if isinstance(value, float):
            # From the shortest decimal that is this float: 2e-16 stays 2e-16, though it is a little more.
            rounded = float(context.create_decimal(repr(value)))
            error[name] = rounded if math.isfinite(rounded) else value
