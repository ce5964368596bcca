"""Multi-head attention whose scores are not scaled and may have a bias (Raffel et al. 2020, arXiv:1910.10683, 2.1)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_broadcastable,
    check_floating,
    check_params,
    check_setting,
    check_shape,
    integer,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.dot_product import attention
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.mask import check_mask
from refimpl.layers.linear import linear

PARTS = ("q_proj.", "k_proj.", "v_proj.", "o_proj.")
KEYS = tuple(f"{part}weight" for part in PARTS)


def biased_attention(x, memory, bias, params, *, n_head, mask=None):
    """Let one sequence attend to another, or to itself, by unscaled products and a bias of every pair of places.

    Parameters
    ----------
    x : array, shape (n_batch, n_query, d_model)
        The sequence that asks.
    memory : array, shape (n_batch, n_key, d_memory)
        The sequence that is asked, which may be `x`.
    bias : array, broadcasts to (n_batch, n_head, n_query, n_key), or None
        Added to the scores, such as `refimpl.positions.bucketed.bucketed_bias`.
    params : dict of array
        As the attention of T5: ``q_proj.weight`` (n_head d_head, d_model), ``k_proj.weight`` and ``v_proj.weight``
        (n_head d_head, d_memory), ``o_proj.weight`` (d_model, n_head d_head).
    n_head : int
        The number of heads; n_head d_head need not be d_model.
    mask : array of bool, shape (n_query, n_key) or broadcasting to (n_batch, n_head, n_query, n_key), optional
        True where a query attends to a key.

    Returns
    -------
    y : array, shape (n_batch, n_query, d_model)
        The mixed heads.
    pullback : callable
        Maps dy to ``(dx, dmemory, dbias, dparams)``, or ``(dx, dmemory, dparams)`` when there is no bias.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    The ``1 / sqrt(d_head)`` of others is in T5's initial query weights, and from there trained.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    array_namespace(x, memory, bias, params, mask)
    _check(x, memory, bias, params, n_head, mask)
    projections = zip((x, memory, memory), PARTS[:3], strict=True)
    (q, k, v), pullbacks = zip(*[_heads(each, scope(params, part), n_head) for each, part in projections], strict=True)
    gathered, attention_pullback = attention(q, k, v, bias, mask=mask, scale=1.0)
    y, out_pullback = linear(join_heads(gathered), scope(params, "o_proj."))

    def pullback(dy):
        djoined, dof_o = out_pullback(dy)
        dq, dk, dv, *dbias = attention_pullback(split_heads(djoined, n_head))
        q_pullback, k_pullback, v_pullback = pullbacks
        dmemory_v, dof_v = v_pullback(dv)
        dmemory_k, dof_k = k_pullback(dk)
        dx, dof_q = q_pullback(dq)
        parts = zip(PARTS, (dof_q, dof_k, dof_v, dof_o), strict=True)
        dparams = merge(*(add_prefix(part, dpart) for part, dpart in parts))
        return dx, dmemory_k + dmemory_v, *dbias, keyed_as(dparams, params)

    return y, pullback


def _heads(x, params, n_head):
    projected, linear_pullback = linear(x, params)

    def pullback(dheads):
        return linear_pullback(join_heads(dheads))

    return split_heads(projected, n_head), pullback


def _check(x, memory, bias, params, n_head, mask):
    check_params(params, KEYS)
    check_floating(x=x, memory=memory, bias=bias, params=params)
    check_shape("x", x, (None, None, None))
    check_shape("memory", memory, (x.shape[0], None, None))
    integer("n_head", n_head)
    check_shape("q_proj.weight", params["q_proj.weight"], (None, x.shape[-1]))
    d_inner = params["q_proj.weight"].shape[0]
    check_setting("n_head", n_head, n_head > 0 and d_inner % n_head == 0, f"a divisor of the {d_inner} rows of q_proj")
    for part in ("k_proj.", "v_proj."):
        check_shape(f"{part}weight", params[f"{part}weight"], (d_inner, memory.shape[-1]))
    check_shape("o_proj.weight", params["o_proj.weight"], (x.shape[-1], d_inner))
    scores_shape = (x.shape[0], n_head, x.shape[1], memory.shape[1])
    check_mask(mask, scores_shape)
    if bias is not None:
        check_broadcastable("bias", bias, scores_shape)
