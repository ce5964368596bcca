"""Merge what was attended over different keys, by the log-sum-exp of each part."""

import math

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradients,
    check_rank,
    check_setting,
    check_shape,
)


def merge_attention(outputs, lses):
    """Make of partial results, each over its own keys, the result over all keys.

    Parameters
    ----------
    outputs : array, shape (n_part, ..., n_query, d_value)
        The output of each part.
    lses : array, shape (n_part, ..., n_query)
        The logarithm of the sum of the exponentials of each part's scores; minus infinity for a part without keys,
        whose output then has no weight.

    Returns
    -------
    y : tuple of array, shapes (..., n_query, d_value) and (..., n_query)
        Output and log-sum-exp over the keys of all parts; 0 and minus infinity where no part has keys.
    pullback : callable
        Maps (doutput, dlse) to ``(doutputs, dlses)``.

    Raises
    ------
    ValueError
        If the shapes do not fit, or there is no part.
    TypeError
        If the arrays are not floating, or dtypes or libraries differ.

    References
    ----------
    Dao et al. (2022), "FlashAttention", arXiv:2205.14135, section 3.1: the softmax over a concatenation.
    """
    xp = array_namespace(outputs, lses)
    check_floating(outputs=outputs, lses=lses)
    check_rank("outputs", outputs, 3)
    check_shape("lses", lses, outputs.shape[:-1])
    check_setting("n_part", outputs.shape[0], outputs.shape[0] > 0, "at least 1")

    highest = xp.max(lses, axis=0)
    shift = xp.where(xp.isfinite(highest), highest, 0.0)  # -inf - -inf would be NaN
    exps = xp.exp(lses - shift)
    total = xp.sum(exps, axis=0)
    empty = total == 0.0
    some = xp.where(empty, 1.0, total)
    shares = (exps / some)[..., None]  # (n_part, ..., n_query, 1)
    output = xp.sum(shares * outputs, axis=0)
    lse = xp.where(empty, -math.inf, shift + xp.log(some))
    y = (output, lse)

    def pullback(dy):
        check_gradients(dy, (output, lse))
        doutput, dlse = dy
        doutputs = shares * doutput
        # A part gains weight at the cost of the others, whose mean is the output.
        along_output = xp.sum(doutput * (outputs - output), axis=-1)
        dlses = xp.squeeze(shares, axis=-1) * (along_output + dlse)
        return doutputs, dlses

    return y, pullback
