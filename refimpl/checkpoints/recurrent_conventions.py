"""In which order the libraries keep the gates, and what they do with two biases: converters both ways."""

from refimpl.arrays import array_namespace, check_setting, check_shape
from refimpl.checkpoints.ledger import gate_orders

GATE_ORDERS = gate_orders()


def reorder_gates(rows, *, kind, source, target):
    """Put the blocks of rows of a weight or a bias into another library's order.

    Parameters
    ----------
    rows : array, shape (n_gate * d_hidden, ...)
        The gates one after the other.
    kind : {"rnn", "lstm", "gru"}
        What the gates belong to.
    source, target : {"torch", "onnx", "keras"}
        Whose order it is, and whose it shall be.

    Returns
    -------
    array, shape (n_gate * d_hidden, ...)
        The same blocks in the other order.

    Raises
    ------
    ValueError
        If a name is unknown, or the rows are not as many for every gate.
    """
    xp = array_namespace(rows)
    check_setting("source", source, source in GATE_ORDERS, f"one of {', '.join(GATE_ORDERS)}")
    check_setting("target", target, target in GATE_ORDERS, f"one of {', '.join(GATE_ORDERS)}")
    _check_kind(kind)
    before, after = GATE_ORDERS[source][kind], GATE_ORDERS[target][kind]
    n_row = rows.shape[0]
    check_setting("the number of rows", n_row, n_row % len(before) == 0, f"a multiple of {len(before)}")
    blocks = dict(zip(before, xp.split(rows, len(before), axis=0), strict=True))
    return xp.concatenate([blocks[gate] for gate in after], axis=0)


def to_onnx(params, *, kind, layer=0, bidirectional=False):
    """Write one layer as the inputs of an ONNX operator (``RNN``, ``LSTM`` or ``GRU``).

    Parameters
    ----------
    params : dict of array
        With the keys of `torch.nn.RNN`, `torch.nn.LSTM` or `torch.nn.GRU`; without a projection, which ONNX lacks.
    kind : {"rnn", "lstm", "gru"}
        Which.
    layer : int, optional
        Which layer: an ONNX operator is one layer.
    bidirectional : bool, optional
        Whether there are two directions.

    Returns
    -------
    dict of array
        ``W`` (n_direction, n_row, d_in), ``R`` (n_direction, n_row, d_hidden) and ``B`` (n_direction, 2 n_row), the
        biases of the input before those of the hidden state; an absent one is 0.

    Raises
    ------
    ValueError
        If the kind is unknown or there is a projection.

    Notes
    -----
    For a GRU with the reset after the product the operator needs ``linear_before_reset=1``.
    """
    xp = array_namespace(params)
    _check_kind(kind)
    suffixes = [f"_l{layer}{way}" for way in ("", "_reverse")[: 1 + bidirectional]]
    projections = [key for key in params if key.startswith("weight_hr")]
    check_setting("params", projections, not projections, "without a projection: ONNX has none")
    directions = []
    for suffix in suffixes:
        weights = [_reordered(params[f"weight_{which}{suffix}"], kind, "torch", "onnx") for which in ("ih", "hh")]
        zero = xp.zeros_like(params[f"weight_hh{suffix}"][:, 0])
        biases = [params.get(f"bias_{which}{suffix}", zero) for which in ("ih", "hh")]
        both = xp.concatenate([_reordered(bias, kind, "torch", "onnx") for bias in biases], axis=0)
        directions.append((*weights, both))
    return {key: xp.stack(parts, axis=0) for key, parts in zip("WRB", zip(*directions, strict=True), strict=True)}


def from_onnx(tensors, *, kind, layer=0):
    """Read one layer from the inputs of an ONNX operator: the inverse of `to_onnx`.

    Parameters
    ----------
    tensors : dict of array
        ``W``, ``R`` and, optionally, ``B``.
    kind : {"rnn", "lstm", "gru"}
        Which.
    layer : int, optional
        The number that the keys shall have.

    Returns
    -------
    dict of array
        With the keys of `torch.nn.RNN`, `torch.nn.LSTM` or `torch.nn.GRU`.

    Raises
    ------
    ValueError
        If the kind is unknown, or the shapes do not fit.
    """
    xp = array_namespace(tensors)
    _check_kind(kind)
    check_shape("W", tensors["W"], (None, None, None))
    n_direction, n_row, _ = tensors["W"].shape
    check_shape("R", tensors["R"], (n_direction, n_row, n_row // len(GATE_ORDERS["onnx"][kind])))
    if "B" in tensors:
        check_shape("B", tensors["B"], (n_direction, 2 * n_row))
    params = {}
    for i, way in zip(range(n_direction), ("", "_reverse"), strict=False):
        biases = xp.split(tensors["B"][i], 2, axis=0) if "B" in tensors else ()
        weights = {"weight_ih": tensors["W"][i], "weight_hh": tensors["R"][i]}
        parts = {**weights, **dict(zip(("bias_ih", "bias_hh"), biases, strict=False))}
        params = {
            **params,
            **{f"{key}_l{layer}{way}": _reordered(part, kind, "onnx", "torch") for key, part in parts.items()},
        }
    return params


def to_keras(params, *, kind, reset="after"):
    """Write the parameters of one cell as the weights of a Keras layer (``SimpleRNN``, ``LSTM`` or ``GRU``).

    Parameters
    ----------
    params : dict of array
        The keys of `rnn_cell`, `lstm_cell` or `gru_cell`, without a projection, which Keras lacks.
    kind : {"rnn", "lstm", "gru"}
        Which.
    reset : {"after", "before"}, optional
        The variant of the GRU.

    Returns
    -------
    dict of array
        ``kernel`` (d_in, n_row), ``recurrent_kernel`` (d_hidden, n_row) and, where there is a bias, ``bias``: the
        sum of both, (n_row,); for a GRU with the reset after the product, where the sum would be wrong, both,
        (2, n_row).

    Raises
    ------
    ValueError
        If the kind is unknown or there is a projection.
    """
    xp = array_namespace(params)
    _check_kind(kind)
    check_setting("params", sorted(params), "weight_hr" not in params, "without a projection: Keras has none")
    kernels = {
        name: xp.swapaxes(_reordered(params[key], kind, "torch", "keras"), 0, 1)
        for name, key in (("kernel", "weight_ih"), ("recurrent_kernel", "weight_hh"))
    }
    if not params.keys() & {"bias_ih", "bias_hh"}:
        return kernels
    zero = xp.zeros_like(params["weight_hh"][:, 0])
    both = [_reordered(params.get(key, zero), kind, "torch", "keras") for key in ("bias_ih", "bias_hh")]
    return {**kernels, "bias": xp.stack(both, axis=0) if _keeps_both(kind, reset) else both[0] + both[1]}


def from_keras(weights, *, kind):
    """Read the parameters of one cell from the weights of a Keras layer: the inverse of `to_keras`.

    Parameters
    ----------
    weights : dict of array
        ``kernel``, ``recurrent_kernel`` and, optionally, ``bias``, of one or (``reset_after=True``) two rows.
    kind : {"rnn", "lstm", "gru"}
        Which.

    Returns
    -------
    dict of array
        The keys of the cell; one bias becomes ``bias_ih`` alone.

    Raises
    ------
    ValueError
        If the kind is unknown.
    """
    xp = array_namespace(weights)
    _check_kind(kind)
    params = {
        key: _reordered(xp.swapaxes(weights[name], 0, 1), kind, "keras", "torch")
        for key, name in (("weight_ih", "kernel"), ("weight_hh", "recurrent_kernel"))
    }
    if "bias" not in weights:
        return params
    rows = [weights["bias"]] if weights["bias"].ndim == 1 else [weights["bias"][0], weights["bias"][1]]
    biases = [_reordered(row, kind, "keras", "torch") for row in rows]
    return {**params, **dict(zip(("bias_ih", "bias_hh"), biases, strict=False))}


def _reordered(rows, kind, source, target):
    return reorder_gates(rows, kind=kind, source=source, target=target)


def _keeps_both(kind, reset):
    # Only there does the bias of the hidden state stand inside a product, with the reset gate.
    return kind == "gru" and reset == "after"


def _check_kind(kind):
    check_setting("kind", kind, kind in GATE_ORDERS["torch"], f"one of {', '.join(GATE_ORDERS['torch'])}")
