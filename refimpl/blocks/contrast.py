"""Contrastive loss: every pair of a batch is to be told from all others (Radford et al. 2021, arXiv:2103.00020)."""

from refimpl.arrays import array_namespace, check_floating, check_gradients, check_params, check_shape
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.unit import unit_vectors


def contrast(a, b, params):
    """Score all pairs by the angle between them, and measure how surprising the right ones are.

    Parameters
    ----------
    a, b : array, shape (n_batch, d)
        Vectors that belong together row by row, such as of images and of their captions.
    params : dict of array
        ``logit_scale`` (), the logarithm of what the cosines are multiplied by: the inverse of the temperature.

    Returns
    -------
    y : tuple of array, shapes () and (n_batch, n_batch)
        The loss, in nats: the mean of telling b from a and a from b.  The logits of every b (rows) and every a.
    pullback : callable
        Maps ``(dloss, dlogits)`` to ``(da, db, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    ``logits_per_text`` of Hugging Face, where a are the images; ``logits_per_image`` is its transpose.  In training,
    CLIP keeps the factor below 100.

    References
    ----------
    Radford et al. (2021), "Learning Transferable Visual Models From Natural Language Supervision", arXiv:2103.00020,
    figure 3.
    """
    xp = array_namespace(a, b, params)
    check_params(params, ["logit_scale"])
    check_floating(a=a, b=b, params=params)
    check_shape("a", a, (None, None))
    check_shape("b", b, a.shape)
    check_shape("logit_scale", params["logit_scale"], ())
    unit_a, a_pullback = unit_vectors(a)
    unit_b, b_pullback = unit_vectors(b)
    factor = xp.exp(params["logit_scale"])
    cosines = xp.matmul(unit_b, xp.swapaxes(unit_a, 0, 1))
    logits = cosines * factor
    right = xp.arange(a.shape[0])
    of_b, of_b_pullback = cross_entropy(logits, right)
    of_a, of_a_pullback = cross_entropy(xp.swapaxes(logits, 0, 1), right)
    loss = 0.5 * (of_a + of_b)

    def pullback(dy):
        check_gradients(dy, (loss, logits))
        dloss, dlogits_here = dy
        (dcolumns,) = of_a_pullback(0.5 * dloss)
        (drows,) = of_b_pullback(0.5 * dloss)
        dlogits = drows + xp.swapaxes(dcolumns, 0, 1) + dlogits_here
        dlogit_scale = xp.sum(dlogits * logits, axis=(0, 1))
        dcosines = dlogits * factor
        (db,) = b_pullback(xp.matmul(dcosines, unit_a))
        (da,) = a_pullback(xp.matmul(xp.swapaxes(dcosines, 0, 1), unit_b))
        return da, db, {"logit_scale": dlogit_scale}

    return (loss, logits), pullback
