"""Attention to a band and to a few global tokens (Beltagy, Peters, Cohan 2020, arXiv:2004.05150, section 3.1)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_boolean,
    check_floating,
    check_gradient,
    check_ids,
    check_params,
    check_setting,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.sparse.band import banded_attention
from refimpl.attention.sparse.gather import gather_rows
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention
from refimpl.layers.linear import linear

LOCAL = ("query", "key", "value")
GLOBAL = ("query_global", "key_global", "value_global")


def longformer_attention(x, global_ids, params, *, n_head, reach, mask=None):
    """Let every token attend to its neighbours and to the global tokens, and the global tokens to all.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    global_ids : array of int, shape (n_batch, n_global)
        The positions of the global tokens; n_seq stands for none, where a sequence has fewer than others.
    params : dict of array
        As ``LongformerSelfAttention`` of Hugging Face: ``weight`` (d_model, d_model) and optionally ``bias``
        (d_model,) of ``query``, ``key``, ``value``, and of ``query_global``, ``key_global``, ``value_global``, which
        project for the attention of the global tokens.
    n_head : int
        The number of heads; divides d_model.
    reach : int
        How many neighbours a token sees to each side; half of ``attention_window`` of Hugging Face.
    mask : array of bool, shape (n_batch, 1, 1, n_seq), optional
        As `refimpl.attention.mask.padding_mask` gives it: False for padding, which is not seen and whose output is 0.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The heads side by side; there is no output projection.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit, or a position is global twice.
    TypeError
        If the arrays are not floating, the positions no integers, or dtypes or libraries differ.

    Notes
    -----
    A token weighs its neighbours and the global tokens, by their local keys, in one softmax; a global token that is
    also a neighbour counts once.  The parts are computed apart and merged by their log-sum-exp, so that time and
    memory grow with ``n_seq * (reach + n_global)``.

    References
    ----------
    Beltagy, Peters, Cohan (2020), "Longformer", arXiv:2004.05150, section 3.1.
    """
    xp = array_namespace(x, global_ids, params, mask)
    _check(x, global_ids, params, n_head, reach, mask)
    n_seq = x.shape[1]
    hits = global_ids[:, :, None] == xp.arange(n_seq)[None, None, :]  # (n_batch, n_global, n_seq)
    _check_distinct(xp, hits)
    is_global = xp.any(hits, axis=1)
    seen = is_global | ~is_global if mask is None else mask[:, 0, 0]
    tokens = xp.where(seen[..., None], x, 0.0)

    local, local_pullback = _attend_locally(xp, tokens, params, n_head, reach, global_ids, (seen, is_global, hits))
    wide, wide_pullback = _attend_globally(xp, tokens, params, n_head, global_ids, seen)
    y = xp.where(seen[..., None], xp.where(is_global[..., None], wide, local), 0.0)
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        dseen = xp.where(seen[..., None], dy, 0.0)
        dwide, dwide_params = wide_pullback(xp.where(is_global[..., None], dseen, 0.0))
        dlocal, dlocal_params = local_pullback(xp.where(is_global[..., None], 0.0, dseen))
        dparams = merge(dlocal_params, dwide_params)
        dx = xp.where(seen[..., None], dlocal + dwide, 0.0)
        return dx, keyed_as(dparams, params)

    return y, pullback


def _attend_locally(xp, x, params, n_head, reach, global_ids, masks):
    """Merge what every token gathers from its neighbours and from the global tokens."""
    seen, is_global, hits = masks
    (q, k, v), pullbacks = _projections(x, params, LOCAL)
    global_k, k_pullback = gather_rows(k, global_ids)
    global_v, v_pullback = gather_rows(v, global_ids)
    heads = [split_heads(each, n_head) for each in (q, k, v)]
    is_near = (seen & ~is_global)[:, None, None, :]
    near, near_pullback = banded_attention(*heads, left=reach, right=reach, mask=is_near)
    is_far = xp.any(hits & seen[:, None, :], axis=-1)[:, None, None, :]  # (n_batch, 1, 1, n_global)
    global_heads = [split_heads(each, n_head) for each in (global_k, global_v)]
    far, far_pullback = tiled_attention(heads[0], *global_heads, mask=is_far)
    outputs, lses = (xp.stack([near[i], far[i]], axis=0) for i in (0, 1))
    (output, lse), merge_pullback = merge_attention(outputs, lses)
    y = join_heads(output)

    def pullback(dy):
        doutputs, dlses = merge_pullback((split_heads(dy, n_head), xp.zeros_like(lse)))
        dq_near, dk_near, dv_near = near_pullback((doutputs[0], dlses[0]))
        dq_far, dk_far, dv_far = far_pullback((doutputs[1], dlses[1]))
        (dk_gathered,), (dv_gathered,) = k_pullback(join_heads(dk_far)), v_pullback(join_heads(dv_far))
        dq, dk, dv = join_heads(dq_near + dq_far), join_heads(dk_near), join_heads(dv_near)
        dx, dparams = _pull_projections((dq, dk + dk_gathered, dv + dv_gathered), pullbacks, LOCAL)
        return dx, dparams

    return y, pullback


def _attend_globally(xp, x, params, n_head, global_ids, seen):
    """Put what the global tokens gather, by projections of their own, where they stand; elsewhere is 0."""
    rows, place_pullback = gather_rows(x, global_ids)
    q, q_pullback = linear(rows, scope(params, "query_global."))
    (k, v), pullbacks = _projections(x, params, GLOBAL[1:])
    heads = [split_heads(each, n_head) for each in (q, k, v)]
    (output, lse), attention_pullback = tiled_attention(*heads, mask=seen[:, None, None, :])
    (y,) = place_pullback(join_heads(output))

    def pullback(dy):
        doutput, _ = gather_rows(dy, global_ids)
        dheads = attention_pullback((split_heads(doutput, n_head), xp.zeros_like(lse)))
        dq, dk, dv = (join_heads(each) for each in dheads)
        drows, dq_params = q_pullback(dq)
        (dx_rows,) = place_pullback(drows)
        dx, dparams = _pull_projections((dk, dv), pullbacks, GLOBAL[1:])
        return dx + dx_rows, merge(dparams, add_prefix("query_global.", dq_params))

    return y, pullback


def _projections(x, params, names):
    pairs = [linear(x, scope(params, f"{name}.")) for name in names]
    return [y for y, _ in pairs], [linear_pullback for _, linear_pullback in pairs]


def _pull_projections(dys, pullbacks, names):
    dx, dparams = 0.0, {}
    for dy, linear_pullback, name in zip(dys, pullbacks, names, strict=True):
        dpart, dprojection = linear_pullback(dy)
        dx = dx + dpart
        dparams = merge(dparams, add_prefix(f"{name}.", dprojection))
    return dx, dparams


def _check(x, global_ids, params, n_head, reach, mask):
    names = (*LOCAL, *GLOBAL)
    check_params(params, [f"{name}.weight" for name in names], [f"{name}.bias" for name in names])
    check_floating(x=x, params=params)
    check_shape("x", x, (None, None, None))
    n_batch, n_seq, d_model = x.shape
    for key, value in params.items():
        check_shape(key, value, (d_model, d_model) if key.endswith("weight") else (d_model,))
    check_setting("n_head", n_head, n_head > 0 and d_model % n_head == 0, f"a divisor of d_model = {d_model}")
    check_setting("reach", reach, reach >= 0, "at least 0")
    check_shape("global_ids", global_ids, (n_batch, None))
    check_ids("global_ids", global_ids, n_seq + 1)
    if mask is not None:
        check_boolean(mask=mask)
        check_shape("mask", mask, (n_batch, 1, 1, n_seq))


def _check_distinct(xp, hits):
    if 0 not in hits.shape:
        n_most = int(xp.max(xp.sum(hits.astype(xp.int64), axis=1), axis=(0, 1)))
        check_setting("global_ids", n_most, n_most <= 1, "different positions within a sequence, each once")
