"""Simple recurrent network (Elman 1990, "Finding Structure in Time")."""

from refimpl.arrays import array_namespace, check_floating, check_setting, check_shape, keyed_as, merge
from refimpl.layers.linear import linear
from refimpl.layers.relu import relu
from refimpl.layers.tanh import tanh
from refimpl.recurrent.names import check_cell, linear_part, named_part
from refimpl.recurrent.stack import recurrent_stack

N_GATE = 1
BENDS = {"tanh": tanh, "relu": relu}


def rnn_cell(x, h, params, *, activation="tanh"):
    """Read one position.

    Parameters
    ----------
    x : array, shape (n_batch, d_in)
        The input.
    h : array, shape (n_batch, d_hidden)
        The hidden state.
    params : dict of array
        As `torch.nn.RNNCell`: ``weight_ih`` (d_hidden, d_in) and ``weight_hh`` (d_hidden, d_hidden); optionally
        ``bias_ih`` and ``bias_hh``, of which only the sum matters.
    activation : {"tanh", "relu"}, optional
        What bends.

    Returns
    -------
    y : array, shape (n_batch, d_hidden)
        The new hidden state: ``activation(x W' + b + h U' + b')``.
    pullback : callable
        Maps dy to ``(dx, dh, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Elman (1990), "Finding Structure in Time", Cognitive Science 14, 179.
    """
    array_namespace(x, h, params)
    check_floating(x=x, h=h, params=params)
    _check_activation(activation)
    check_shape("x", x, (None, None))
    d_hidden, _ = check_cell(params, x.shape[-1], n_gate=N_GATE)
    check_shape("h", h, (x.shape[0], d_hidden))
    from_x, x_pullback = linear(x, linear_part(params, "ih"))
    (y,), step_pullback = _step(from_x, h, params, activation=activation)

    def pullback(dy):
        dfrom_x, dh, dhidden = step_pullback((dy,))
        dx, dinput = x_pullback(dfrom_x)
        dparams = merge(named_part("ih", dinput), dhidden)
        return dx, dh, keyed_as(dparams, params)

    return y, pullback


def rnn(x, h, params, *, n_layer=1, bidirectional=False, activation="tanh", lengths=None, keep=None, rate=0.0):
    """Read sequences.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_in)
        The sequences.
    h : array, shape (n_layer * n_direction, n_batch, d_hidden), or None
        The hidden states before the first position, in the order layer 0, layer 0 reversed, layer 1, …; None for 0.
    params : dict of array
        As `torch.nn.RNN`: the keys of `rnn_cell` with ``_l0``, ``_l0_reverse``, ``_l1``, … behind.
    n_layer : int, optional
        The number of layers.
    bidirectional : bool, optional
        Whether every layer also reads from the end to the start.
    activation : {"tanh", "relu"}, optional
        What bends.
    lengths : array of int, shape (n_batch,), optional
        Where each sequence ends; by default at n_seq.
    keep : array of bool, shape (n_layer - 1, n_batch, n_seq, n_direction * d_hidden), optional
        Keep-mask of the dropout of what each layer hands to the next.
    rate : float, optional
        The rate with which `keep` was drawn.

    Returns
    -------
    y : tuple of array
        The hidden states of the last layer, (n_batch, n_seq, n_direction * d_hidden), 0 beyond the lengths; and the
        last hidden states, of the shape of `h`.
    pullback : callable
        Maps ``(dy, dh_last)`` to ``(dx, dh, dparams)``, without dh where `h` is None.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The batch comes first in x and y (``batch_first=True`` of PyTorch) and second in h, as in PyTorch either way.

    References
    ----------
    Elman (1990), "Finding Structure in Time", Cognitive Science 14, 179.
    Schuster, Paliwal (1997), "Bidirectional recurrent neural networks", IEEE Trans. Signal Processing 45, 2673.
    """
    array_namespace(x, h, params, lengths, keep)
    _check_activation(activation)
    return recurrent_stack(
        x, (h,), params, step=_step, n_gate=N_GATE, n_layer=n_layer, bidirectional=bidirectional,
        lengths=lengths, keep=keep, rate=rate, activation=activation,
    )  # fmt: skip


def _step(from_x, h, params, *, activation="tanh"):
    """Give the new state, and map its gradient to those of from_x, the old state and the parameters used here."""
    array_namespace(from_x, h, params)
    from_h, h_pullback = linear(h, linear_part(params, "hh"))
    h_new, bend_pullback = BENDS[activation](from_x + from_h)

    def pullback(dy):
        (dsum,) = bend_pullback(dy[0])
        dh, dhidden = h_pullback(dsum)
        return dsum, dh, named_part("hh", dhidden)

    return (h_new,), pullback


def _check_activation(activation):
    check_setting("activation", activation, activation in BENDS, "tanh or relu")
