"""Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078), with the reset gate before or after the product."""

from refimpl.arrays import array_namespace, check_floating, check_gradients, check_setting, check_shape, keyed_as, merge
from refimpl.layers.linear import linear
from refimpl.layers.sigmoid import sigmoid
from refimpl.layers.tanh import tanh
from refimpl.recurrent.names import check_cell, linear_part, named_part
from refimpl.recurrent.stack import recurrent_stack

N_GATE = 3


def gru_cell(x, h, params, *, reset="after"):
    """Read one position.

    Parameters
    ----------
    x : array, shape (n_batch, d_in)
        The input.
    h : array, shape (n_batch, d_hidden)
        The hidden state.
    params : dict of array
        As `torch.nn.GRUCell`: ``weight_ih`` (3 d_hidden, d_in) and ``weight_hh`` (3 d_hidden, d_hidden), the rows of
        the gates r (reset), z (update), n (new) one after the other; optionally ``bias_ih`` and ``bias_hh``.
    reset : {"after", "before"}, optional
        Whether the reset gate acts after or before the product of the hidden state with its weight.

    Returns
    -------
    y : array, shape (n_batch, d_hidden)
        The new hidden state: ``(1 - z) n + z h``.
    pullback : callable
        Maps dy to ``(dx, dh, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The two variants differ by about 0.1 on random weights, and both are right.  After: ``n = tanh(W x + b + r (U h +
    b'))``, as in PyTorch, cuDNN, Keras (``reset_after=True``) and ONNX (``linear_before_reset=1``).  Before:
    ``n = tanh(W x + b + U (r h) + b')``, as in the paper, Keras (``reset_after=False``) and ONNX by default.

    References
    ----------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", arXiv:1406.1078, eq. 5 to 8.
    """
    array_namespace(x, h, params)
    check_floating(x=x, h=h, params=params)
    check_shape("x", x, (None, None))
    d_hidden, _ = check_cell(params, x.shape[-1], n_gate=N_GATE)
    check_shape("h", h, (x.shape[0], d_hidden))
    from_x, x_pullback = linear(x, linear_part(params, "ih"))
    (y,), step_pullback = _step_named(reset)(from_x, h, params)

    def pullback(dy):
        dfrom_x, dh, dhidden = step_pullback((dy,))
        dx, dinput = x_pullback(dfrom_x)
        dparams = merge(named_part("ih", dinput), dhidden)
        return dx, dh, keyed_as(dparams, params)

    return y, pullback


def gru(x, h, params, *, n_layer=1, bidirectional=False, reset="after", lengths=None, keep=None, rate=0.0):
    """Read sequences.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_in)
        The sequences.
    h : array, shape (n_layer * n_direction, n_batch, d_hidden), or None
        The hidden states before the first position, in the order layer 0, layer 0 reversed, layer 1, …; None for 0.
    params : dict of array
        As `torch.nn.GRU`: the keys of `gru_cell` with ``_l0``, ``_l0_reverse``, ``_l1``, … behind.
    n_layer : int, optional
        The number of layers.
    bidirectional : bool, optional
        Whether every layer also reads from the end to the start.
    reset : {"after", "before"}, optional
        As for `gru_cell`.
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
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", arXiv:1406.1078, eq. 5 to 8.
    """
    array_namespace(x, h, params, lengths, keep)
    return recurrent_stack(
        x, (h,), params, step=_step_named(reset), n_gate=N_GATE, n_layer=n_layer, bidirectional=bidirectional,
        lengths=lengths, keep=keep, rate=rate,
    )  # fmt: skip


def _step_after(from_x, h, params):
    """Reset after the product: every step gives the new state, and maps its gradient to those of from_x, h, params."""
    xp = array_namespace(from_x, h, params)
    from_h, h_pullback = linear(h, linear_part(params, "hh"))
    x_r, x_z, x_n = xp.split(from_x, N_GATE, axis=-1)
    h_r, h_z, h_n = xp.split(from_h, N_GATE, axis=-1)
    r, r_pullback = sigmoid(x_r + h_r)
    z, z_pullback = sigmoid(x_z + h_z)
    n, n_pullback = tanh(x_n + r * h_n)
    h_new = (1.0 - z) * n + z * h

    def pullback(dy):
        check_gradients(dy, (z,))
        (dh_new,) = dy
        (dn_in,) = n_pullback(dh_new * (1.0 - z))
        (dz_in,) = z_pullback(dh_new * (h - n))
        (dr_in,) = r_pullback(dn_in * h_n)
        dh_in, dhidden = h_pullback(xp.concatenate([dr_in, dz_in, dn_in * r], axis=-1))
        dfrom_x = xp.concatenate([dr_in, dz_in, dn_in], axis=-1)
        return dfrom_x, dh_new * z + dh_in, named_part("hh", dhidden)

    return (h_new,), pullback


def _step_before(from_x, h, params):
    """Reset before the product."""
    xp = array_namespace(from_x, h, params)
    of_gates, of_new = _split_rows(xp, linear_part(params, "hh"))
    from_h, h_pullback = linear(h, of_gates)
    x_r, x_z, x_n = xp.split(from_x, N_GATE, axis=-1)
    h_r, h_z = xp.split(from_h, 2, axis=-1)
    r, r_pullback = sigmoid(x_r + h_r)
    z, z_pullback = sigmoid(x_z + h_z)
    from_reset, reset_pullback = linear(r * h, of_new)
    n, n_pullback = tanh(x_n + from_reset)
    h_new = (1.0 - z) * n + z * h

    def pullback(dy):
        check_gradients(dy, (z,))
        (dh_new,) = dy
        (dn_in,) = n_pullback(dh_new * (1.0 - z))
        (dz_in,) = z_pullback(dh_new * (h - n))
        dreset, dof_new = reset_pullback(dn_in)
        (dr_in,) = r_pullback(dreset * h)
        dh_in, dof_gates = h_pullback(xp.concatenate([dr_in, dz_in], axis=-1))
        dhidden = {key: xp.concatenate([dof_gates[key], dof_new[key]], axis=0) for key in of_gates}
        dfrom_x = xp.concatenate([dr_in, dz_in, dn_in], axis=-1)
        return dfrom_x, dh_new * z + dreset * r + dh_in, named_part("hh", dhidden)

    return (h_new,), pullback


STEPS = {"after": _step_after, "before": _step_before}


def _step_named(reset):
    check_setting("reset", reset, reset in STEPS, "after or before")
    return STEPS[reset]


def _split_rows(xp, part):
    n_row = part["weight"].shape[0]
    boundary = n_row // N_GATE * 2
    pairs = {key: xp.split(value, [boundary], axis=0) for key, value in part.items()}
    return tuple({key: pair[i] for key, pair in pairs.items()} for i in range(2))
