"""Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
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
from refimpl.attention.mask import blank_unattended, check_mask
from refimpl.layers.linear import linear

FUSED = "in_proj_weight"
SEPARATE = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
OPTIONAL = ("in_proj_bias", "out_proj.bias")


def multi_head_attention(q, k, v, params, *, n_head, mask=None, keep=None, rate=0.0, attend=None):
    """Attend with several heads at once, each on its own projection, and mix what they gather.

    Parameters
    ----------
    q : array, shape (n_batch, n_query, d_model)
        What asks.
    k : array, shape (n_batch, n_key, d_key)
        What is asked.
    v : array, shape (n_batch, n_key, d_value)
        What is gathered.
    params : dict of array
        As `torch.nn.MultiheadAttention`: ``in_proj_weight`` (3 d_model, d_model), the rows of q, k and v one after
        the other, or, where sizes differ, ``q_proj_weight`` (d_model, d_model), ``k_proj_weight``
        (d_model, d_key), ``v_proj_weight`` (d_model, d_value); ``out_proj.weight`` (d_model, d_model); optionally
        ``in_proj_bias`` (3 d_model,) and ``out_proj.bias`` (d_model,).
    n_head : int
        The number of heads; divides d_model.
    mask : array of bool, shape (n_query, n_key) or broadcasting to (n_batch, n_head, n_query, n_key), optional
        True where a query attends to a key.
    keep : array of bool, shape (n_batch, n_head, n_query, n_key), optional
        Keep-mask of the dropout of the weights.
    rate : float, optional
        The rate with which `keep` was drawn.
    attend : callable, optional
        How each head attends, by default `attention`: ``attend(q, k, v, mask=mask)`` gives what it gathers, and a
        pullback.  One such as `alternating_attention` masks by itself, and takes a mask of the keys.

    Returns
    -------
    y : array, shape (n_batch, n_query, d_model)
        The mixed heads.  Where a query attends to no key, only the output bias is left.
    pullback : callable
        Maps dy to ``(dq, dk, dv, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the masks not boolean, or dtypes or libraries differ.

    Notes
    -----
    ``attn_mask`` and ``key_padding_mask`` of PyTorch are True where a query must *not* attend.  Keys and values that
    are masked for every query and head may hold NaN or inf.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.2.2.
    """
    xp = array_namespace(q, k, v, params, mask, keep)
    d_model = _check(q, k, v, params, n_head, mask)
    of_q, of_k, of_v = _projections(xp, params, d_model)
    not_position = (0,) if mask is not None and mask.ndim == 2 else (1, 2)

    heads_q, q_pullback = _project(q, of_q, n_head)  # (n_batch, n_head, n_query, d_head)
    heads_k, k_pullback = _project(blank_unattended(k, mask, axis=not_position), of_k, n_head)
    heads_v, v_pullback = _project(blank_unattended(v, mask, axis=not_position), of_v, n_head)
    dropping = {} if keep is None else {"keep": keep, "rate": rate}
    core = attention if attend is None else attend
    gathered, attention_pullback = core(heads_q, heads_k, heads_v, mask=mask, **dropping)
    y, out_pullback = linear(join_heads(gathered), scope(params, "out_proj."))

    def pullback(dy):
        djoined, dout = out_pullback(dy)
        dheads_q, dheads_k, dheads_v = attention_pullback(split_heads(djoined, n_head))
        dv, dof_v = v_pullback(dheads_v)
        dk, dof_k = k_pullback(dheads_k)
        dq, dof_q = q_pullback(dheads_q)
        dparams = merge(_join_projections(xp, params, dof_q, dof_k, dof_v), add_prefix("out_proj.", dout))
        return dq, dk, dv, keyed_as(dparams, params)

    return y, pullback


def self_attention(x, params, *, n_head, mask=None, keep=None, rate=0.0, attend=None):
    """Let the positions of one sequence attend to each other.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequence.
    params : dict of array
        As for `multi_head_attention`.
    n_head : int
        The number of heads.
    mask, keep : array of bool, optional
        As for `multi_head_attention`.
    rate : float, optional
        As for `multi_head_attention`.
    attend : callable, optional
        As for `multi_head_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The mixed heads.
    pullback : callable
        Maps dy to ``(dx, dparams)``.
    """
    y, multi_head_pullback = multi_head_attention(
        x, x, x, params, n_head=n_head, mask=mask, keep=keep, rate=rate, attend=attend
    )

    def pullback(dy):
        dq, dk, dv, dparams = multi_head_pullback(dy)
        return dq + dk + dv, dparams

    return y, pullback


def cross_attention(x, memory, params, *, n_head, mask=None, keep=None, rate=0.0):
    """Let one sequence attend to another.

    Parameters
    ----------
    x : array, shape (n_batch, n_query, d_model)
        The sequence that asks.
    memory : array, shape (n_batch, n_key, d_memory)
        The sequence that is asked, such as an encoder's output.
    params : dict of array
        As for `multi_head_attention`.
    n_head : int
        The number of heads.
    mask, keep : array of bool, optional
        As for `multi_head_attention`.
    rate : float, optional
        As for `multi_head_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_query, d_model)
        The mixed heads.
    pullback : callable
        Maps dy to ``(dx, dmemory, dparams)``.
    """
    y, multi_head_pullback = multi_head_attention(
        x, memory, memory, params, n_head=n_head, mask=mask, keep=keep, rate=rate
    )

    def pullback(dy):
        dq, dk, dv, dparams = multi_head_pullback(dy)
        return dq, dk + dv, dparams

    return y, pullback


def _project(x, params, n_head):
    projected, linear_pullback = linear(x, params)

    def pullback(dheads):
        return linear_pullback(join_heads(dheads))

    return split_heads(projected, n_head), pullback


def _projections(xp, params, d_model):
    boundaries = [d_model, 2 * d_model]
    weights = xp.split(params[FUSED], boundaries, axis=0) if FUSED in params else [params[key] for key in SEPARATE]
    if "in_proj_bias" not in params:
        return [{"weight": weight} for weight in weights]
    biases = xp.split(params["in_proj_bias"], boundaries, axis=0)
    return [{"weight": weight, "bias": bias} for weight, bias in zip(weights, biases, strict=True)]


def _join_projections(xp, params, *dprojections):
    dweights = [dprojection["weight"] for dprojection in dprojections]
    fused = {FUSED: xp.concatenate(dweights, axis=0)} if FUSED in params else {}
    separate = {} if fused else dict(zip(SEPARATE, dweights, strict=True))
    biases = [dprojection["bias"] for dprojection in dprojections if "bias" in dprojection]
    bias = {"in_proj_bias": xp.concatenate(biases, axis=0)} if biases else {}
    return merge(fused, separate, bias)


def _check(q, k, v, params, n_head, mask):
    weights = [FUSED] if FUSED in params else SEPARATE
    check_params(params, [*weights, "out_proj.weight"], OPTIONAL)
    check_floating(q=q, k=k, v=v, params=params)
    check_shape("q", q, (None, None, None))
    d_model = q.shape[-1]
    check_shape("k", k, (q.shape[0], None, d_model if FUSED in params else None))
    check_shape("v", v, (*k.shape[:2], d_model if FUSED in params else None))
    integer("n_head", n_head)
    check_setting("n_head", n_head, n_head > 0 and d_model % n_head == 0, f"a divisor of d_model = {d_model}")
    separate = {key: (d_model, x.shape[-1]) for key, x in zip(SEPARATE, (q, k, v), strict=True)}
    fused = {FUSED: (3 * d_model, d_model), "in_proj_bias": (3 * d_model,), "out_proj.weight": (d_model, d_model)}
    shapes = {**separate, **fused}
    for key in [key for key in shapes if key in params]:
        check_shape(key, params[key], shapes[key])
    if mask is not None:
        check_mask(mask, (q.shape[0], n_head, q.shape[1], k.shape[1]))
        check_setting("mask", tuple(mask.shape), mask.ndim in (2, 4), "an array of 2 or 4 axes")
    return d_model
