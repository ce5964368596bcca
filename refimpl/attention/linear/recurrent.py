"""Linear attention step by step: a recurrent network whose state has one size for ever (arXiv:2006.16236)."""

from refimpl.arrays import (
    array_namespace,
    cast,
    check_floating,
    check_gradients,
    check_rank,
    check_setting,
    check_shape,
)
from refimpl.attention.linear.attention import elu_plus_one


def recurrent_linear_attention(q, k, v, memory=None, normaliser=None, *, feature_map=elu_plus_one):
    """Attend to all positions up to each, from a state instead of the past.

    Parameters
    ----------
    q : array, shape (..., n_seq, d_head)
        Queries.
    k : array, shape (..., n_seq, d_head)
        Keys.
    v : array, shape (..., n_seq, d_value)
        Values.
    memory : array, shape (..., d_feature, d_value), optional
        The sum of the past's features times values; at the start of a text there is none.
    normaliser : array, shape (..., d_feature), optional
        The sum of the past's features; there is one if there is a memory.
    feature_map : callable, optional
        A component that makes features, none negative, of queries and of keys.

    Returns
    -------
    y : tuple of array, shapes (..., n_seq, d_value), (..., d_feature, d_value), (..., d_feature)
        The output of `refimpl.attention.linear.attention.causal_linear_attention`, and the state from which the next
        call goes on: memory and normaliser.
    pullback : callable
        Maps (doutput, dmemory, dnormaliser) to ``(dq, dk, dv)``, or with a state to
        ``(dq, dk, dv, dmemory, dnormaliser)``.

    Raises
    ------
    ValueError
        If shapes do not fit, or there is half a state.
    TypeError
        If the arrays are not floating, or dtypes or libraries differ.

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs", arXiv:2006.16236, eq. 16 to 20.
    """
    xp = array_namespace(q, k, v, memory, normaliser)
    _check(q, k, v, memory, normaliser)
    of_q, q_pullback = feature_map(q)  # (..., n_seq, d_feature)
    of_k, k_pullback = feature_map(k)
    start = _start(xp, of_k, v, memory, normaliser)
    states = _accumulated(xp, of_k, v, *start)
    totals, outputs = _read(xp, of_q, v, states)
    output = xp.concatenate(outputs, axis=-2)
    y = (output, states[-1][0], xp.squeeze(states[-1][1], axis=-2))

    def pullback(dy):
        check_gradients(dy, y)
        doutput, dmemory, dnormaliser = dy
        dstate = (dmemory, dnormaliser[..., None, :])
        dof_q, dof_k, dv, dstart = _back(xp, (of_q, of_k, v), (states, totals, output), doutput, dstate)
        (dq,) = q_pullback(dof_q)
        (dk,) = k_pullback(dof_k)
        return (dq, dk, dv) if memory is None else (dq, dk, dv, dstart[0], xp.squeeze(dstart[1], axis=-2))

    return y, pullback


def _start(xp, of_k, v, memory, normaliser):
    *lead, _, d_feature = of_k.shape
    if memory is None:
        shapes = [(*lead, d_feature, v.shape[-1]), (*lead, 1, d_feature)]
        return tuple(cast(xp.zeros(shape, dtype=xp.float32), v.dtype) for shape in shapes)
    check_shape("memory", memory, (*lead, d_feature, v.shape[-1]))
    check_shape("normaliser", normaliser, (*lead, d_feature))
    return memory, normaliser[..., None, :]


def _accumulated(xp, of_k, v, memory, normaliser):
    """List the state before the first position, and after each."""
    states = [(memory, normaliser)]
    for t in range(v.shape[-2]):
        feature, value = of_k[..., t : t + 1, :], v[..., t : t + 1, :]
        memory_before, normaliser_before = states[-1]
        states.append((memory_before + xp.matmul(xp.swapaxes(feature, -1, -2), value), normaliser_before + feature))
    return states


def _read(xp, of_q, v, states):
    """Read every position from the state after it; nothing comes first, so that there may be no position."""
    totals, outputs = [], [v[..., :0, :]]
    for t, (memory, normaliser) in enumerate(states[1:]):
        feature = of_q[..., t : t + 1, :]
        total = xp.sum(feature * normaliser, axis=-1, keepdims=True)
        totals.append(xp.where(total == 0.0, 1.0, total))
        outputs.append(xp.matmul(feature, memory) / totals[-1])
    return totals, outputs


def _back(xp, inputs, made, doutput, dstate):
    """Walk from the last position to the first, with the gradient of the state in hand."""
    (of_q, of_k, v), (states, totals, output), (dmemory, dnormaliser) = inputs, made, dstate
    dof_q, dof_k, dv = [of_q[..., :0, :]], [of_k[..., :0, :]], [v[..., :0, :]]
    for t in reversed(range(v.shape[-2])):
        (memory, normaliser), here = states[t + 1], slice(t, t + 1)
        query, key, value = of_q[..., here, :], of_k[..., here, :], v[..., here, :]
        dsum = doutput[..., here, :] / totals[t]
        dtotal = -xp.sum(dsum * output[..., here, :], axis=-1, keepdims=True)
        dof_q.append(xp.matmul(dsum, xp.swapaxes(memory, -1, -2)) + dtotal * normaliser)
        # The position has read the state; what reads it later has been added already.
        dmemory = dmemory + xp.matmul(xp.swapaxes(query, -1, -2), dsum)
        dnormaliser = dnormaliser + dtotal * query
        dof_k.append(xp.matmul(value, xp.swapaxes(dmemory, -1, -2)) + dnormaliser)
        dv.append(xp.matmul(key, dmemory))
    joined = [xp.concatenate(parts[::-1], axis=-2) for parts in (dof_q, dof_k, dv)]
    return *joined, (dmemory, dnormaliser)


def _check(q, k, v, memory, normaliser):
    check_floating(q=q, k=k, v=v, memory=memory, normaliser=normaliser)
    check_rank("q", q, 2)
    check_shape("k", k, q.shape)
    check_shape("v", v, (*k.shape[:-1], None))
    check_setting("d_head", q.shape[-1], q.shape[-1] > 0, "at least 1")
    has_half = (memory is None) != (normaliser is None)
    check_setting("memory", "one of memory and normaliser", not has_half, "given with its normaliser")
