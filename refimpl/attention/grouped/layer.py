"""A self-attention layer with grouped queries, for a whole sequence or for its next positions (as in Llama)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_setting,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.cache.key_value import append, cache_mask
from refimpl.attention.cache.rows import next_positions
from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.mask import check_mask
from refimpl.attention.rotated import rotated
from refimpl.layers.linear import linear

WEIGHTS = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight")
BIASES = ("q_proj.bias", "k_proj.bias", "v_proj.bias", "o_proj.bias")


def grouped_query_self_attention(
    x, params, *, n_head, n_kv_head, mask=None, rotate=None, bias_at=None, positions=None, scale=None, softcap=None
):
    """Let the positions of one sequence attend to each other, with groups of heads that share keys and values.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequence.
    params : dict of array
        As the attention of Llama: ``q_proj.weight`` (n_head d_head, d_model), ``k_proj.weight`` and
        ``v_proj.weight`` (n_kv_head d_head, d_model), ``o_proj.weight`` (d_model, n_head d_head); optionally a
        ``bias`` beside each.
    n_head, n_kv_head : int
        The numbers of heads of queries, and of keys and values; the second divides the first.
    mask : array of bool, shape (n_seq, n_seq) or broadcasting to (n_batch, n_head, n_seq, n_seq), optional
        True where a query attends to a key.
    rotate : callable, optional
        Such as `refimpl.positions.rotary.rotary`: ``rotate(heads, positions=positions)`` gives the rotated queries or
        keys, shape (n_batch, heads, n_seq, d_head), and a pullback.
    bias_at : callable, optional
        Such as `refimpl.positions.alibi.alibi_bias_at`: ``bias_at(query_positions, key_positions, n_head=n_head,
        like=q)`` is added to the scores and not trained.
    positions : array of int, shape (n_seq,) or (n_batch, n_seq), optional
        Handed to `rotate` and `bias_at`; by default counted from 0.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before the mask.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The mixed heads.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    References
    ----------
    Ainslie et al. (2023), "GQA: Training Generalized Multi-Query Transformer Models", arXiv:2305.13245, section 2.2.
    """
    xp = array_namespace(x, params, mask, positions)
    _check(x, params, n_head, n_kv_head)
    if mask is not None:
        check_mask(mask, (x.shape[0], n_head, x.shape[1], x.shape[1]))

    q, q_pullback = _heads(x, scope(params, "q_proj."), n_head, rotate, positions)
    k, k_pullback = _heads(x, scope(params, "k_proj."), n_kv_head, rotate, positions)
    v, v_pullback = _heads(x, scope(params, "v_proj."), n_kv_head)
    places = xp.arange(x.shape[1]) if positions is None else positions
    bias = None if bias_at is None else bias_at(places, places, n_head=n_head, like=q)
    gathered, attention_pullback = grouped_query_attention(q, k, v, bias, mask=mask, scale=scale, softcap=softcap)
    y, out_pullback = linear(join_heads(gathered), scope(params, "o_proj."))

    def pullback(dy):
        djoined, dout = out_pullback(dy)
        dq, dk, dv, *_ = attention_pullback(split_heads(djoined, n_head))
        dx_v, dof_v = v_pullback(dv)
        dx_k, dof_k = k_pullback(dk)
        dx_q, dof_q = q_pullback(dq)
        dparts = {"q_proj.": dof_q, "k_proj.": dof_k, "v_proj.": dof_v, "o_proj.": dout}
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts.items()))
        return dx_q + dx_k + dx_v, keyed_as(dparams, params)

    return y, pullback


def grouped_query_decode(
    x, params, past, *, n_head, n_kv_head, is_token=None, rotate=None, bias_at=None, positions=None, scale=None,
    softcap=None,
):  # fmt: skip
    """Let new positions attend to themselves and to all that a cache remembers.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `grouped_query_self_attention`.
    past : KeyValueCache
        Keys (rotated) and values of the past; `refimpl.attention.cache.paged.gather_pages` makes one of blocks.
    n_head, n_kv_head : int
        The numbers of heads.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.
    rotate, bias_at : callable, optional
        As for `grouped_query_self_attention`.
    positions : array of int, shape (n_batch, n_new), optional
        Handed to `rotate`; by default, and for `bias_at`, they come from the cache, which counts tokens.
    scale, softcap : float, optional
        As for `grouped_query_self_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What `grouped_query_self_attention` gives at these positions of the whole sequence, causally masked.
    KeyValueCache
        The past with the new positions.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, `is_token` not boolean, or dtypes or libraries differ.
    """
    xp = array_namespace(x, params, is_token, positions)
    _check(x, params, n_head, n_kv_head)
    places = next_positions(past.n_seen, x.shape[1], is_token=is_token)
    angles = xp.where(places >= 0, places, 0) if positions is None else positions
    q, _ = _heads(x, scope(params, "q_proj."), n_head, rotate, angles)
    k, _ = _heads(x, scope(params, "k_proj."), n_kv_head, rotate, angles)
    v, _ = _heads(x, scope(params, "v_proj."), n_kv_head)
    grown = append(past, k, v, is_token=is_token)
    bias = None if bias_at is None else bias_at(places, grown.positions, n_head=n_head, like=q)
    mask = cache_mask(grown, places)
    gathered, _ = grouped_query_attention(q, grown.k, grown.v, bias, mask=mask, scale=scale, softcap=softcap)
    y, _ = linear(join_heads(gathered), scope(params, "o_proj."))
    return y, grown


def _heads(x, params, n_head, rotate=None, positions=None):
    projected, linear_pullback = linear(x, params)
    heads, rotated_pullback = rotated(split_heads(projected, n_head), rotate=rotate, positions=positions)

    def pullback(dheads):
        (dsplit,) = rotated_pullback(dheads)
        return linear_pullback(join_heads(dsplit))

    return heads, pullback


def _check(x, params, n_head, n_kv_head):
    check_params(params, WEIGHTS, BIASES)
    check_floating(x=x, params=params)
    check_shape("x", x, (None, None, None))
    d_model = x.shape[-1]
    check_setting("n_kv_head", n_kv_head, n_kv_head > 0, "at least 1")
    check_setting("n_head", n_head, n_head > 0 and n_head % n_kv_head == 0, f"a multiple of n_kv_head = {n_kv_head}")
    check_shape("q_proj.weight", params["q_proj.weight"], (None, d_model))
    d_q = params["q_proj.weight"].shape[0]
    check_setting("n_head", n_head, d_q % n_head == 0, f"a divisor of the {d_q} rows of q_proj.weight")
    d_kv = d_q // n_head * n_kv_head
    shapes = {"k_proj": (d_kv, d_model), "v_proj": (d_kv, d_model), "o_proj": (d_model, d_q)}
    for key, shape in {"q_proj": (d_q, d_model), **shapes}.items():
        check_shape(f"{key}.weight", params[f"{key}.weight"], shape)
        if f"{key}.bias" in params:
            check_shape(f"{key}.bias", params[f"{key}.bias"], shape[:1])
