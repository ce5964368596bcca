"""Sending tokens to the slots of experts, and what the experts say back to the tokens."""

from refimpl.arrays import (
    array_namespace,
    check_boolean,
    check_floating,
    check_gradient,
    check_ids,
    check_shape,
    integer,
    scatter_add,
)


def token_slots(chosen, *, capacity=None):
    """Let every expert take the tokens that chose it, in their order, until it is full.

    Parameters
    ----------
    chosen : array of bool, shape (n_batch, n_seq, n_expert)
        Which experts a token goes to.
    capacity : int, optional
        How many tokens of a sequence an expert takes; those that come later are dropped.  By default as many as come.

    Returns
    -------
    ids : array of int, shape (n_expert, n_batch, n_slot)
        Which token of its sequence is in each slot.
    filled : array of bool, shape (n_expert, n_batch, n_slot)
        False for a slot that is left empty; its id means nothing.

    Raises
    ------
    ValueError
        If there are not three axes, or the capacity is negative.
    TypeError
        If `chosen` is not boolean.

    References
    ----------
    Fedus, Zoph, Shazeer (2021), "Switch Transformers", arXiv:2101.03961, section 2.2 (the capacity).
    """
    xp = array_namespace(chosen)
    check_boolean(chosen=chosen)
    check_shape("chosen", chosen, (None, None, None))
    n_seq = chosen.shape[1]
    by_expert = xp.moveaxis(chosen, 2, 0)  # (n_expert, n_batch, n_seq)
    n_slot = _most(by_expert) if capacity is None else min(integer("capacity", capacity, at_least=0), n_seq)
    places = xp.arange(n_seq)
    # Those that chose the expert first, in order; all keys differ, so that no tie is left to the library.
    ids = xp.argsort(xp.where(by_expert, places, places + n_seq), axis=-1)[..., :n_slot]
    n_come = xp.sum(by_expert.astype(xp.int64), axis=-1, keepdims=True)
    return ids, xp.arange(n_slot) < n_come


def dispatch(x, ids):
    """Put tokens into slots.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d)
        The tokens.
    ids : array of int, shape (n_expert, n_batch, n_slot)
        Which token of its sequence is in each slot.

    Returns
    -------
    y : array, shape (n_expert, n_batch * n_slot, d)
        The slots of every expert.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    ValueError
        If a shape does not fit, or an id is no token.
    TypeError
        If `x` is not floating, or the ids are not integers.
    """
    xp = array_namespace(x, ids)
    check_floating(x=x)
    check_shape("x", x, (None, None, None))
    check_shape("ids", ids, (None, x.shape[0], None))
    n_batch, n_seq, d = x.shape
    check_ids("ids", ids, n_seq)
    rows = _rows(ids, n_seq)
    y = xp.reshape(xp.reshape(x, (n_batch * n_seq, d))[rows], (ids.shape[0], n_batch * ids.shape[2], d))

    def pullback(dy):
        check_gradient(dy, (ids.shape[0], n_batch * ids.shape[2], d), x.dtype)
        # A token may be in the slots of several experts.
        dx = scatter_add(rows, xp.reshape(dy, (rows.shape[0], d)), n_batch * n_seq)
        return (xp.reshape(dx, x.shape),)

    return y, pullback


def combine(slots, weights, *, ids, filled):
    """Add up, for every token, what its experts have made of it.

    Parameters
    ----------
    slots : array, shape (n_expert, n_batch * n_slot, d)
        What the experts have made of their slots; whatever is in empty ones.
    weights : array, shape (n_batch, n_seq, n_expert)
        How much an expert counts for a token.
    ids : array of int, shape (n_expert, n_batch, n_slot)
        Which token of its sequence is in each slot; of an empty one any.
    filled : array of bool, shape (n_expert, n_batch, n_slot)
        False for empty slots.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d)
        The weighted sums; 0 for a token that is in no slot.
    pullback : callable
        Maps dy to ``(dslots, dweights)``.

    Raises
    ------
    ValueError
        If a shape does not fit, or an id is no token.
    TypeError
        If the arrays are not floating and of one dtype, the ids are not integers, or `filled` is not boolean.
    """
    xp = array_namespace(slots, weights, ids, filled)
    check_floating(slots=slots, weights=weights)
    check_boolean(filled=filled)
    check_shape("weights", weights, (None, None, None))
    n_batch, n_seq, n_expert = weights.shape
    check_shape("ids", ids, (n_expert, n_batch, None))
    check_ids("ids", ids, n_seq)
    n_slot = ids.shape[2]
    check_shape("slots", slots, (n_expert, n_batch * n_slot, None))
    check_shape("filled", filled, ids.shape)
    d = slots.shape[-1]
    n_token, n_row = n_batch * n_seq, n_expert * n_batch * n_slot
    rows = _rows(ids, n_seq)
    cells = rows * n_expert + _rows(0 * ids + xp.arange(n_expert)[:, None, None], 0)
    is_filled = xp.reshape(filled, (n_row, 1))
    heard = xp.where(is_filled, xp.reshape(slots, (n_row, d)), 0.0)
    weight = xp.reshape(weights, (n_token * n_expert,))[cells][:, None]  # (n_row, 1)
    y = xp.reshape(scatter_add(rows, heard * weight, n_token), (n_batch, n_seq, d))

    def pullback(dy):
        check_gradient(dy, (n_batch, n_seq, d), weight.dtype)
        dheard = xp.where(is_filled, xp.reshape(dy, (n_token, d))[rows], 0.0)
        dslots = xp.reshape(dheard * weight, slots.shape)
        dweight = xp.sum(dheard * heard, axis=-1, keepdims=True)
        return dslots, xp.reshape(scatter_add(cells, dweight, n_token * n_expert), weights.shape)

    return y, pullback


def _rows(ids, n_seq):
    """Count the tokens through the batch."""
    xp = array_namespace(ids)
    n_expert, n_batch, n_slot = ids.shape
    return xp.reshape(ids + n_seq * xp.arange(n_batch)[:, None], (n_expert * n_batch * n_slot,))


def _most(by_expert):
    """Count the tokens of the sequence and the expert that have most."""
    xp = array_namespace(by_expert)
    empty = 0 in by_expert.shape
    return 0 if empty else int(xp.max(xp.sum(by_expert.astype(xp.int64), axis=-1), axis=(0, 1)))
