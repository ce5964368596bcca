"""Draw inputs that hide nothing: random norm weights, pairwise different sizes, never all ones."""


def normal(generator, *shape, scale=1.0):
    """Draw standard normal numbers.

    Parameters
    ----------
    generator : numpy.random.Generator
        The source.
    *shape : int
        The shape.
    scale : float, optional
        Multiplies them.

    Returns
    -------
    numpy.ndarray
        The numbers, in float64.
    """
    return scale * generator.standard_normal(shape)


def normal_params(generator, shapes):
    """Draw parameters of the size they have in trained networks.

    Parameters
    ----------
    generator : numpy.random.Generator
        The source.
    shapes : dict of (str, tuple of int)
        By key.  Matrices get a standard deviation of ``1 / sqrt(d_in)``; norm weights lie around 1 and are as
        random as everything else, for weights of exactly 1 hide a wrong gradient.

    Returns
    -------
    dict of numpy.ndarray
        The parameters.
    """
    drawn = {}
    for key, shape in shapes.items():
        if len(shape) > 1:
            drawn[key] = normal(generator, *shape, scale=shape[-1] ** -0.5)
        else:
            centre = 1.0 if "norm" in key and key.endswith("weight") else 0.0
            drawn[key] = centre + normal(generator, *shape, scale=0.5)
    return drawn
