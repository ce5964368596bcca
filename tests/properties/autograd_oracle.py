"""Gradients by HIPS autograd, of the forward alone.

In extended precision wherever autograd can: its own rounding, of sums that cancel where ours have none, then has no
say.
"""

import autograd
import autograd.numpy as anp
import numpy as np

from tests.properties.component import cotangents, outputs


def autograd_gradients(component, call, v=None):
    """Gradients of <y, w> for the random cotangents w, or, with `v`, the derivative of these along v.

    They are longdouble, but for components that ask for an erf: of that autograd knows only one in float64.
    """
    dy = outputs(cotangents(component(call)[0], call.seed))
    try:
        return _gradients(component, call.map_leaves(lambda x: x.astype(np.longdouble)), dy, v)
    except TypeError as error:
        if "'erf' not supported" not in str(error):
            raise
    return _gradients(component, call, dy, v)


def _gradients(component, call, dy, v):
    leaves = call.leaves()

    def weighed(*values):
        y, _ = component(call.with_leaves(dict(zip(leaves, values, strict=True))))
        # The sum itself is of no interest; the log-sum-exps of masked rows may make it inf - inf.
        with np.errstate(invalid="ignore"):
            return sum(anp.sum(part * dy[name]) for name, part in outputs(y).items())

    gradient = autograd.grad(weighed, argnum=tuple(range(len(leaves))))
    if v is None:
        with np.errstate(over="ignore"):  # its slope of tanh, 1 / cosh², is 0 by way of 1 / inf
            return dict(zip(leaves, gradient(*leaves.values()), strict=True))

    def along_v(*values):
        return sum(anp.sum(part * v[name]) for name, part in zip(leaves, gradient(*values), strict=True))

    second = autograd.grad(along_v, argnum=tuple(range(len(leaves))))
    return dict(zip(leaves, second(*leaves.values()), strict=True))
