"""Long short-term memory (Hochreiter & Schmidhuber 1997), with forget gate and, optionally, a projection."""

from refimpl.arrays import array_namespace, check_floating, check_gradients, check_shape, keyed_as, merge
from refimpl.layers.linear import linear
from refimpl.layers.sigmoid import sigmoid
from refimpl.layers.tanh import tanh
from refimpl.recurrent.names import check_cell, linear_part, named_part
from refimpl.recurrent.stack import recurrent_stack

N_GATE = 4


def lstm_cell(x, h, c, params):
    """Read one position.

    Parameters
    ----------
    x : array, shape (n_batch, d_in)
        The input.
    h : array, shape (n_batch, d_state)
        The hidden state; d_state is d_hidden where there is no projection.
    c : array, shape (n_batch, d_hidden)
        The memory.
    params : dict of array
        As `torch.nn.LSTMCell`: ``weight_ih`` (4 d_hidden, d_in) and ``weight_hh`` (4 d_hidden, d_state), the rows of
        the gates i (input), f (forget), g (cell), o (output) one after the other; optionally ``bias_ih``,
        ``bias_hh``, and the projection ``weight_hr`` (d_state, d_hidden).

    Returns
    -------
    y : tuple of array
        The new hidden state and the new memory: ``c = f c + i g`` and ``h = o tanh(c)``, projected.
    pullback : callable
        Maps ``(dh_new, dc_new)`` to ``(dx, dh, dc, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The order of the gates is i f g o in PyTorch, i o f c in ONNX and i f c o in Keras (c is our g);
    `refimpl.checkpoints.recurrent_conventions` converts.  No gate looks at the memory (no peepholes).

    References
    ----------
    Hochreiter, Schmidhuber (1997), "Long Short-Term Memory", Neural Computation 9, 1735.
    Gers, Schmidhuber, Cummins (2000), "Learning to Forget", Neural Computation 12, 2451.
    """
    array_namespace(x, h, c, params)
    check_floating(x=x, h=h, c=c, params=params)
    check_shape("x", x, (None, None))
    d_state, d_hidden = check_cell(params, x.shape[-1], n_gate=N_GATE, may_project=True)
    check_shape("h", h, (x.shape[0], d_state))
    check_shape("c", c, (x.shape[0], d_hidden))
    from_x, x_pullback = linear(x, linear_part(params, "ih"))
    y, step_pullback = _step(from_x, h, c, params)

    def pullback(dy):
        dfrom_x, dh, dc, dhidden = step_pullback(dy)
        dx, dinput = x_pullback(dfrom_x)
        dparams = merge(named_part("ih", dinput), dhidden)
        return dx, dh, dc, keyed_as(dparams, params)

    return y, pullback


def lstm(x, h, c, params, *, n_layer=1, bidirectional=False, lengths=None, keep=None, rate=0.0):
    """Read sequences.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_in)
        The sequences.
    h : array, shape (n_layer * n_direction, n_batch, d_state), or None
        The hidden states before the first position, in the order layer 0, layer 0 reversed, layer 1, …; None for 0.
    c : array, shape (n_layer * n_direction, n_batch, d_hidden), or None
        The memories before the first position.
    params : dict of array
        As `torch.nn.LSTM`: the keys of `lstm_cell` with ``_l0``, ``_l0_reverse``, ``_l1``, … behind.
    n_layer : int, optional
        The number of layers.
    bidirectional : bool, optional
        Whether every layer also reads from the end to the start.
    lengths : array of int, shape (n_batch,), optional
        Where each sequence ends; by default at n_seq.
    keep : array of bool, shape (n_layer - 1, n_batch, n_seq, n_direction * d_state), optional
        Keep-mask of the dropout of what each layer hands to the next.
    rate : float, optional
        The rate with which `keep` was drawn.

    Returns
    -------
    y : tuple of array
        The hidden states of the last layer, (n_batch, n_seq, n_direction * d_state), 0 beyond the lengths; the last
        hidden states; and the last memories.
    pullback : callable
        Maps ``(dy, dh_last, dc_last)`` to ``(dx, dh, dc, dparams)``, without dh and dc where these are None.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The batch comes first in x and y (``batch_first=True`` of PyTorch) and second in h and c, as in PyTorch either
    way.  Here h and c stand side by side, where PyTorch has the pair ``(h_0, c_0)``.

    References
    ----------
    Hochreiter, Schmidhuber (1997), "Long Short-Term Memory", Neural Computation 9, 1735.
    Sak, Senior, Beaufays (2014), "LSTM Based RNN Architectures for Large Vocabulary Speech Recognition",
    arXiv:1402.1128, eq. 1 to 7, without peepholes.
    """
    array_namespace(x, h, c, params, lengths, keep)
    return recurrent_stack(
        x, (h, c), params, step=_step, n_gate=N_GATE, n_layer=n_layer, bidirectional=bidirectional,
        lengths=lengths, keep=keep, rate=rate,
    )  # fmt: skip


def _step(from_x, h, c, params):
    """Give the new state, and map its gradient to those of from_x, the old state and the parameters used here."""
    xp = array_namespace(from_x, h, c, params)
    from_h, h_pullback = linear(h, linear_part(params, "hh"))
    i_in, f_in, g_in, o_in = xp.split(from_x + from_h, N_GATE, axis=-1)
    i, i_pullback = sigmoid(i_in)
    f, f_pullback = sigmoid(f_in)
    g, g_pullback = tanh(g_in)
    o, o_pullback = sigmoid(o_in)
    c_new = f * c + i * g
    shown, show_pullback = tanh(c_new)
    h_new, project_pullback = _project(o * shown, linear_part(params, "hr"))

    def pullback(dy):
        check_gradients(dy, (h_new, c_new))
        dh_new, dc_new = dy
        dhidden, dproject = project_pullback(dh_new)
        (dmemory,) = show_pullback(dhidden * o)
        dc_all = dc_new + dmemory  # the next step's use of the memory, and this step's
        (di_in,) = i_pullback(dc_all * g)
        (df_in,) = f_pullback(dc_all * c)
        (dg_in,) = g_pullback(dc_all * i)
        (do_in,) = o_pullback(dhidden * shown)
        dfrom_x = xp.concatenate([di_in, df_in, dg_in, do_in], axis=-1)
        dh, dcell = h_pullback(dfrom_x)
        return dfrom_x, dh, dc_all * f, merge(named_part("hh", dcell), named_part("hr", dproject))

    return (h_new, c_new), pullback


def _project(hidden, part):
    return linear(hidden, part) if part else (hidden, _unprojected)


def _unprojected(dy):
    return dy, {}
