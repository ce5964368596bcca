"""Layers of a recurrent network on top of each other, each in one direction or in both."""

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradients,
    check_ids,
    check_setting,
    check_shape,
    keyed_as,
    merge,
)
from refimpl.layers.dropout import dropout
from refimpl.recurrent.layer import recurrent_layer
from refimpl.recurrent.names import cells_of


def recurrent_stack(
    x, state, params, *, step, n_gate, n_layer=1, bidirectional=False, lengths=None, keep=None, rate=0.0, **settings
):
    """Let every layer read what the one below has written.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_in)
        The sequences.
    state : tuple of array, each of shape (n_layer * n_direction, n_batch, d), or of None
        The states before the first position; None for 0.
    params : dict of array
        The keys of the cell with ``_l0``, ``_l0_reverse``, ``_l1``, … behind.
    step : callable
        As for `recurrent_layer`.
    n_gate : int
        How many blocks of rows the cell's weights have.
    n_layer : int, optional
        The number of layers.
    bidirectional : bool, optional
        Whether every layer also reads from the end to the start; the next one gets both, one beside the other.
    lengths : array of int, shape (n_batch,), optional
        Where each sequence ends.
    keep : array of bool, shape (n_layer - 1, n_batch, n_seq, n_direction * d_state), optional
        Keep-mask of the dropout of what each layer hands to the next.
    rate : float, optional
        The rate with which `keep` was drawn.
    **settings
        Handed to every step.

    Returns
    -------
    y : tuple of array
        The hidden states of the last layer, (n_batch, n_seq, n_direction * d_state), and the last states.
    pullback : callable
        Maps a tuple of as many dy to ``(dx, *dstate, dparams)``, with no gradient for what is None in `state`.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.
    """
    xp = array_namespace(x, state, params, lengths, keep)
    n_direction = 2 if bidirectional else 1
    cells = _check(x, state, params, n_gate, n_layer, n_direction, lengths, keep)
    starts = [_start(xp, x, state, cell, i) for i, cell in enumerate(cells)]

    written, lasts, level_pullbacks, drop_pullbacks = [x], [], [], []
    for layer in range(n_layer):
        here = slice(layer * n_direction, (layer + 1) * n_direction)
        below, drop_pullback = _dropped(written[-1], None if keep is None or layer == 0 else keep[layer - 1], rate)
        (joined, finals), level_pullback = _level(
            xp, below, starts[here], cells[here], step=step, lengths=lengths, **settings
        )
        written.append(joined)
        lasts.extend(finals)
        level_pullbacks.append(level_pullback)
        drop_pullbacks.append(drop_pullback)
    last = tuple(xp.stack([final[k] for final in lasts], axis=0) for k in range(len(state)))

    def pullback(dy):
        check_gradients(dy, (written[-1], *last))
        dwritten, *dlast = dy
        dstarts, dparams = [], {}
        for layer in range(n_layer - 1, -1, -1):
            dfinals = [tuple(d[layer * n_direction + i] for d in dlast) for i in range(n_direction)]
            dbelow, dstarts_here, dlevel = level_pullbacks[layer]((dwritten, dfinals))
            (dwritten,) = drop_pullbacks[layer](dbelow)
            dstarts = [*dstarts_here, *dstarts]
            dparams = merge(dparams, dlevel)
        dstate = [xp.stack([d[k] for d in dstarts], axis=0) for k, given in enumerate(state) if given is not None]
        return dwritten, *dstate, keyed_as(dparams, params)

    return (written[-1], *last), pullback


def _level(xp, x, starts, cells, **settings):
    """Read in all directions, and put what was written side by side."""
    read, pullbacks = [], []
    for start, cell in zip(starts, cells, strict=True):
        done, layer_pullback = recurrent_layer(x, start, cell.params, reverse=cell.is_reverse, **settings)
        read.append(done)
        pullbacks.append(layer_pullback)

    def pullback(dy):
        djoined, dfinals = dy
        parts = xp.split(djoined, len(cells), axis=-1)
        back = [pull((part, *final)) for pull, part, final in zip(pullbacks, parts, dfinals, strict=True)]
        dxs, dstarts, dcells = zip(*back, strict=True)
        renamed = [cell.rename(dcell) for cell, dcell in zip(cells, dcells, strict=True)]
        return dxs[0] if len(dxs) == 1 else dxs[0] + dxs[1], dstarts, merge(*renamed)

    return (xp.concatenate([done[0] for done in read], axis=-1), [done[1:] for done in read]), pullback


def _dropped(x, keep, rate):
    return (x, _unchanged) if keep is None else dropout(x, keep=keep, rate=rate)


def _unchanged(dy):
    return (dy,)


def _start(xp, x, state, cell, i):
    # Zeros of a state's shape, in the dtype of x, whatever dtype that is.
    weight = cell.params["weight_hh"]
    rows = (weight[0], weight[: cell.d_hidden, 0])
    column = x[:, 0, :1]
    return tuple(
        xp.zeros_like(column) + xp.zeros_like(row) if given is None else given[i]
        for given, row in zip(state, rows, strict=False)
    )


def _check(x, state, params, n_gate, n_layer, n_direction, lengths, keep):
    check_floating(x=x, params=params, **dict(zip("hc", state, strict=False)))
    check_shape("x", x, (None, None, None))
    check_setting("n_seq", x.shape[1], x.shape[1] > 0, "at least 1: there is nothing to read")
    check_setting("n_layer", n_layer, n_layer > 0, "positive")
    cells = cells_of(
        params, x.shape[-1], n_gate=n_gate, n_layer=n_layer, n_direction=n_direction, may_project=len(state) > 1
    )
    d_state, d_hidden = cells[0].d_state, cells[0].d_hidden
    for name, given, d in zip("hc", state, (d_state, d_hidden), strict=False):
        if given is not None:
            check_shape(name, given, (n_layer * n_direction, x.shape[0], d))
    if lengths is not None:
        check_shape("lengths", lengths, x.shape[:1])
        check_ids("lengths", lengths, x.shape[1] + 1)
    if keep is not None:
        check_shape("keep", keep, (n_layer - 1, *x.shape[:2], n_direction * d_state))
    return cells
