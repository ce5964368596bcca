"""Draw tokens: a distribution and one uniform number give one token, always the same."""

from refimpl.arrays import array_namespace, check_setting, check_shape


def draw(probabilities, uniform):
    """Draw one token for every row by inverting the cumulated distribution.

    Parameters
    ----------
    probabilities : array, shape (n_batch, vocab_size)
        Weights of the tokens; they need not sum to 1.
    uniform : array, shape (n_batch,)
        Numbers in [0, 1).

    Returns
    -------
    array of int, shape (n_batch,)
        The first token up to which the weights sum to more than the share of the uniform number: token i for a share
        of exactly its probability.  A token of weight 0 is never drawn.

    Raises
    ------
    ValueError
        If there is not one uniform number in [0, 1) for every row, or a weight is NaN or infinite.
    """
    xp = array_namespace(probabilities, uniform)
    check_shape("uniform", uniform, probabilities.shape[:1])
    # Below 0 even a token of weight 0 would be reached.
    inside = bool(xp.all((uniform >= 0.0) & (uniform < 1.0)))
    check_setting("uniform", "a number outside", inside, "in [0, 1)")
    # In float64: in float32 the largest numbers below 1 would round to 1.
    up_to = xp.cumsum(probabilities.astype(xp.float64), axis=-1)
    total = up_to[:, -1:]
    # NaN would compare as false with everything, and the first token would always come.
    usable = bool(xp.all(xp.isfinite(total)))
    check_setting("probabilities", "a row with NaN or infinity", usable, "finite")
    reached = (up_to > uniform.astype(xp.float64)[:, None] * total) | (up_to >= total)
    return xp.argmax(reached.astype(xp.int64), axis=-1)


def uniforms(source, n_batch, i, *, like):
    """Take the uniform numbers of one step.

    Parameters
    ----------
    source : numpy.random.Generator or array, shape (n_batch, n_step)
        A generator, or all numbers beforehand.
    n_batch : int
        How many are needed.
    i : int
        Which step this is.
    like : array
        An array of the library they are needed in.

    Returns
    -------
    array, shape (n_batch,)
        Numbers in [0, 1).

    Raises
    ------
    TypeError
        If the source is neither.
    ValueError
        If there are not enough numbers.
    """
    if hasattr(source, "random"):
        numbers = source.random(n_batch)
        xp = array_namespace(like)
        return numbers if array_namespace(numbers) is xp else xp.asarray(numbers.tolist(), dtype=xp.float64)
    if not hasattr(source, "shape"):
        got = type(source).__name__
        raise TypeError(f"uniforms must come from a numpy.random.Generator or an array, got {got}")
    fits = len(source.shape) == 2 and source.shape[0] == n_batch and source.shape[1] > i
    check_setting("the shape of uniforms", source.shape, fits, f"({n_batch}, at least {i + 1})")
    return source[:, i]
