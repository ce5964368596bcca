"""Dropout (Srivastava et al. 2014), with inverted scaling and the mask as an argument."""

from refimpl.arrays import array_namespace, check_boolean, check_floating, check_gradient, check_shape, number


def dropout(x, *, keep, rate):
    """Drop the entries that the mask does not keep, and scale the rest up.

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.
    keep : array of bool, shape (...)
        True where an entry is kept; `keep_mask` draws one.  In evaluation, do not call dropout.
    rate : float
        The probability of dropping with which the mask was drawn, in [0, 1].

    Returns
    -------
    y : array, shape (...)
        ``x / (1 - rate)`` where kept, else 0.
    pullback : callable
        Maps dy to ``(dx,)``, through the same mask.

    Raises
    ------
    ValueError
        If the mask has another shape, or the rate lies outside [0, 1].
    TypeError
        If `x` is not floating or the mask not boolean.

    References
    ----------
    Srivastava et al. (2014), "Dropout", JMLR 15, section 10 (scaling at training time).
    """
    xp = array_namespace(x, keep)
    check_floating(x=x)
    check_boolean(keep=keep)
    check_shape("keep", keep, x.shape)
    number("rate", rate, at_least=0.0, at_most=1.0)

    scale = float(1.0 / (1.0 - rate) if rate < 1.0 else 0.0)
    y = xp.where(keep, x * scale, 0.0)
    dtype = y.dtype

    def pullback(dy):
        check_gradient(dy, keep.shape, dtype)
        dx = xp.where(keep, dy * scale, 0.0)
        return (dx,)

    return y, pullback


def keep_mask(generator, shape, *, rate):
    """Draw a keep-mask.

    Parameters
    ----------
    generator : numpy.random.Generator or cupy.random.Generator
        The source of randomness; it decides the library of the mask.
    shape : tuple of int
        The shape of the mask.
    rate : float
        The probability of dropping an entry, in [0, 1].

    Returns
    -------
    array of bool
        True with probability ``1 - rate``.

    Raises
    ------
    ValueError
        If the rate lies outside [0, 1].
    """
    number("rate", rate, at_least=0.0, at_most=1.0)
    return generator.random(shape) >= rate
