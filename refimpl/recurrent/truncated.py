"""Truncated backpropagation through time (Williams & Peng 1990): the state goes on, its gradient does not."""

from refimpl.arrays import array_namespace, check_floating, check_gradients, check_setting, check_shape


def truncated(x, h, c, params, *, run, n_step, lengths=None, **settings):
    """Read sequences chunk by chunk, and stop the gradient of the state wherever a chunk begins.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_in)
        The sequences.
    h : array, shape (n_layer, n_batch, d_state)
        The hidden states before the first position.
    c : array, shape (n_layer, n_batch, d_hidden), or None
        The memories of an LSTM; None for the others.
    params : dict of array
        Those of `run`.
    run : callable
        `refimpl.recurrent.rnn.rnn`, `refimpl.recurrent.lstm.lstm` or `refimpl.recurrent.gru.gru`.
    n_step : int
        The length of a chunk; the last one may be shorter.
    lengths : array of int, shape (n_batch,), optional
        Where each sequence ends.
    **settings
        Handed to `run`; both directions at once cannot be cut into chunks.

    Returns
    -------
    y : tuple of array
        What `run` returns for the whole sequences.
    pullback : callable
        Maps a tuple of as many dy to ``(dx, dh, dc, dparams)``, without dc where c is None.  Within a chunk the
        gradients are exact; across its borders nothing flows, so they are not the derivative of y.

    Raises
    ------
    ValueError
        If the chunks have no length, both directions are asked for, or `run` refuses what it gets.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    In PyTorch: ``state.detach()`` between chunks.  A chunk as long as the sequence gives the full gradient.

    References
    ----------
    Williams, Peng (1990), "An Efficient Gradient-Based Algorithm for On-Line Training of Recurrent Network
    Trajectories", Neural Computation 2, 490.
    """
    xp = array_namespace(x, h, c, params, lengths)
    check_floating(x=x, h=h, c=c, params=params)
    check_shape("x", x, (None, None, None))
    check_setting("n_step", n_step, n_step > 0, "positive")
    one_way = not settings.get("bidirectional", False)
    check_setting("bidirectional", not one_way, one_way, "False: what reads from the end cannot begin with a chunk")
    starts = range(0, x.shape[1], n_step)

    states, written, pullbacks = [(h,) if c is None else (h, c)], [], []
    for start in starts:
        chunk = x[:, start : start + n_step]
        ends = None if lengths is None else _lengths_within(xp, lengths, start, chunk.shape[1])
        (y, *state), chunk_pullback = run(chunk, *states[-1], params, lengths=ends, **settings)
        written.append(y)
        states.append(tuple(state))
        pullbacks.append(chunk_pullback)
    whole = xp.concatenate(written, axis=1)

    def pullback(dy):
        check_gradients(dy, (whole, *states[-1]))
        dwritten, *dlast = dy
        dchunks, dparams = [], None
        for i in range(len(pullbacks) - 1, -1, -1):
            dstate = dlast if i == len(pullbacks) - 1 else [xp.zeros_like(d) for d in dlast]
            dchunk, *dstart, dhere = pullbacks[i]((dwritten[:, starts[i] : starts[i] + n_step], *dstate))
            dchunks.append(dchunk)
            dparams = dhere if dparams is None else {key: dparams[key] + dhere[key] for key in dhere}
        return xp.concatenate(dchunks[::-1], axis=1), *dstart, dparams

    return (whole, *states[-1]), pullback


def _lengths_within(xp, lengths, start, n_seq):
    left = lengths - start
    return xp.where(left < 0, 0, xp.where(left > n_seq, n_seq, left))
