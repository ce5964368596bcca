"""One layer of a recurrent network: the same step for every position, each from where the last one left."""

from refimpl.arrays import array_namespace, check_gradients, keyed_as, merge
from refimpl.layers.linear import linear
from refimpl.recurrent.names import linear_part, named_part


def recurrent_layer(x, state, params, *, step, lengths=None, reverse=False, **settings):
    """Read a sequence position by position.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_in)
        The sequences.
    state : tuple of array, each of shape (n_batch, d)
        The state before the first position; its first entry is the hidden state.
    params : dict of array
        ``weight_ih``, ``weight_hh`` and, optionally, ``bias_ih``, ``bias_hh``: those of the cell.
    step : callable
        ``step(from_x, *state, params, **settings) -> (state, pullback)``, as each of the cells has one.
    lengths : array of int, shape (n_batch,), optional
        Where each sequence ends.  Beyond, x may hold anything, y is 0, and the state stays as it is.
    reverse : bool, optional
        Whether to read from the end (of each sequence) to the start.
    **settings
        Handed to every step.

    Returns
    -------
    y : tuple of array
        The hidden states at every position, (n_batch, n_seq, d_state), and the state after the last position read,
        one array for each of `state`.
    pullback : callable
        Maps a tuple of as many dy to ``(dx, dstate, dparams)``, where dstate is a tuple.

    References
    ----------
    Werbos (1990), "Backpropagation through time", Proceedings of the IEEE 78, 1550.
    """
    xp = array_namespace(x, state, params, lengths)
    n_seq = x.shape[1]
    # (n_batch, n_seq, 1), or None where every sequence is as long as the array
    inside = None if lengths is None else (xp.arange(n_seq)[None, :] < lengths[:, None])[:, :, None]
    from_x, x_pullback = linear(_blanked(xp, x, inside), linear_part(params, "ih"))
    order = range(n_seq - 1, -1, -1) if reverse else range(n_seq)

    states, pullbacks = [state], []
    for t in order:
        stepped, step_pullback = step(from_x[:, t], *states[-1], params, **settings)
        states.append(_held(xp, stepped, states[-1], inside, t))
        pullbacks.append(step_pullback)
    hidden = [kept[0] for kept in states[1:]]
    y = _blanked(xp, xp.stack(hidden[::-1] if reverse else hidden, axis=1), inside)

    def pullback(dy):
        check_gradients(dy, (y, *states[-1]))
        dhidden, *dfinal = dy
        dhidden_inside = _blanked(xp, dhidden, inside)
        dstate, dfrom_x, dparams = tuple(dfinal), [], None
        for t, step_pullback in zip(reversed(order), reversed(pullbacks), strict=True):
            dkept = (dstate[0] + dhidden_inside[:, t], *dstate[1:])
            dstepped, dheld = _unheld(xp, dkept, inside, t)
            dfrom, *dbefore, dcell = step_pullback(dstepped)
            dstate = tuple(db if dh is None else db + dh for db, dh in zip(dbefore, dheld, strict=True))
            dparams = dcell if dparams is None else {key: dparams[key] + dcell[key] for key in dcell}
            dfrom_x.append(dfrom)
        # The gradients were met in the order opposite to that of reading.
        dx_inside, dinput = x_pullback(xp.stack(dfrom_x if reverse else dfrom_x[::-1], axis=1))
        all_dparams = merge(named_part("ih", dinput), dparams)
        return _blanked(xp, dx_inside, inside), dstate, keyed_as(all_dparams, params)

    return (y, *states[-1]), pullback


def _blanked(xp, x, inside):
    return x if inside is None else xp.where(inside, x, 0.0)


def _held(xp, stepped, before, inside, t):
    # A sequence that has ended, or (in reverse) has not yet begun, keeps its state.
    if inside is None:
        return stepped
    return tuple(xp.where(inside[:, t], new, old) for new, old in zip(stepped, before, strict=True))


def _unheld(xp, dkept, inside, t):
    if inside is None:
        return dkept, (None,) * len(dkept)
    dstepped = tuple(xp.where(inside[:, t], d, 0.0) for d in dkept)
    return dstepped, tuple(xp.where(inside[:, t], 0.0, d) for d in dkept)
