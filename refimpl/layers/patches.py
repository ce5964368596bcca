"""Images cut into patches, each of them mapped to a vector (Dosovitskiy et al. 2020, arXiv:2010.11929, eq. 1)."""

from refimpl.arrays import array_namespace, check_floating, check_params, check_setting, check_shape, keyed_as
from refimpl.layers.linear import linear


def patches(x, params):
    """Map every square of an image to a vector; the squares do not overlap.

    Parameters
    ----------
    x : array, shape (n_batch, n_channel, height, width)
        Images, whose sides are multiples of the side of a patch.
    params : dict of array
        ``weight`` (d_model, n_channel, side, side) and, optionally, ``bias`` (d_model,), as `torch.nn.Conv2d` with a
        stride of the side.

    Returns
    -------
    y : array, shape (n_batch, n_patch, d_model)
        One vector for each patch, row after row of the image.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Dosovitskiy et al. (2020), "An Image is Worth 16x16 Words", arXiv:2010.11929, eq. 1.
    """
    xp = array_namespace(x, params)
    _check(x, params)
    n_batch, n_channel, height, width = x.shape
    d_model, _, side, _ = params["weight"].shape
    n_row, n_column = height // side, width // side
    grid = xp.reshape(x, (n_batch, n_channel, n_row, side, n_column, side))
    squares = xp.moveaxis(grid, (2, 4), (1, 2))  # (n_batch, n_row, n_column, n_channel, side, side)
    flat = xp.reshape(squares, (n_batch, n_row * n_column, n_channel * side * side))
    matrix = xp.reshape(params["weight"], (d_model, n_channel * side * side))
    y, linear_pullback = linear(flat, {**params, "weight": matrix})

    def pullback(dy):
        dflat, dlinear = linear_pullback(dy)
        dsquares = xp.reshape(dflat, (n_batch, n_row, n_column, n_channel, side, side))
        dx = xp.reshape(xp.moveaxis(dsquares, (1, 2), (2, 4)), x.shape)
        dparams = {**dlinear, "weight": xp.reshape(dlinear["weight"], params["weight"].shape)}
        return dx, keyed_as(dparams, params)

    return y, pullback


def _check(x, params):
    check_params(params, ["weight"], ["bias"])
    check_floating(x=x, params=params)
    check_shape("x", x, (None, None, None, None))
    check_shape("weight", params["weight"], (None, x.shape[1], None, None))
    side = params["weight"].shape[2]
    check_shape("weight", params["weight"], (None, x.shape[1], side, side))
    for name, size in (("height", x.shape[2]), ("width", x.shape[3])):
        check_setting(name, size, size % side == 0, f"a multiple of {side}, the side of a patch")
