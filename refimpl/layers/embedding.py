"""Embedding: rows of a table, looked up by id."""

import math

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_ids,
    check_params,
    check_shape,
    integer,
    scatter_add,
)


def embedding(ids, params, *, padding_id=None):
    """Look up one row of a table for every id.

    Parameters
    ----------
    ids : array of int, shape (...)
        Row numbers in [0, n_row).
    params : dict of array
        ``weight`` of shape (n_row, d_model), as `torch.nn.Embedding`.
    padding_id : int, optional
        A row that is read but never trained: its gradient is 0.

    Returns
    -------
    y : array, shape (..., d_model)
        The rows.
    pullback : callable
        Maps dy, shape (..., d_model), to ``(dparams,)``; the gradients of a repeated id add up.

    Raises
    ------
    ValueError
        If an id or the padding id is out of range, or a shape or a parameter name does not fit.
    TypeError
        If the ids are not integers, the table is not floating, or the libraries differ.

    Notes
    -----
    `torch.nn.Embedding` also zeroes row `padding_idx` when it is created; the lookup itself does not.
    """
    xp = array_namespace(ids, params)
    check_params(params, ["weight"])
    check_floating(params=params)
    weight = params["weight"]
    check_shape("weight", weight, (None, None))
    n_row, d_model = weight.shape
    check_ids("ids", ids, n_row)
    if padding_id is not None:
        integer("padding_id", padding_id, at_least=0, below=n_row)

    flat_ids = xp.reshape(ids, (math.prod(ids.shape),))  # (n_id,)
    y = xp.reshape(weight[flat_ids], (*ids.shape, d_model))

    def pullback(dy):
        check_gradient(dy, (*ids.shape, d_model), weight.dtype)
        dweight = scatter_add(flat_ids, xp.reshape(dy, (*flat_ids.shape, d_model)), n_row)
        if padding_id is None:
            return ({"weight": dweight},)
        is_padding = (xp.arange(n_row) == padding_id)[:, None]  # (n_row, 1)
        return ({"weight": xp.where(is_padding, 0.0, dweight)},)

    return y, pullback
