"""Multi-head latent attention: keys and values from one small vector a position (DeepSeek-V2, arXiv:2405.04434)."""

import math

from refimpl.arrays import add_prefix, array_namespace, keyed_as, merge, scope
from refimpl.attention.cache.key_value import append, cache_mask
from refimpl.attention.cache.rows import next_positions
from refimpl.attention.dot_product import attention
from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.latent.params import check_latent
from refimpl.attention.rotated import rotated
from refimpl.layers.linear import linear
from refimpl.layers.rms_norm import rms_norm


def latent_attention(x, params, *, n_head, mask=None, rotate=None, positions=None, scale=None, eps=1e-6):
    """Let the positions of one sequence attend to each other, with keys and values of every head from one latent.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequence.
    params : dict of array
        As the attention of DeepSeek: ``q_proj.weight`` (n_head (d_nope + d_rope), d_model), or through a latent
        ``q_a_proj.weight`` (d_query_latent, d_model), ``q_a_layernorm.weight`` (d_query_latent,) and
        ``q_b_proj.weight`` (n_head (d_nope + d_rope), d_query_latent); ``kv_a_proj_with_mqa.weight``
        (d_latent + d_rope, d_model), ``kv_a_layernorm.weight`` (d_latent,), ``kv_b_proj.weight``
        (n_head (d_nope + d_value), d_latent), ``o_proj.weight`` (d_model, n_head d_value); optionally ``bias`` of
        q_a_proj, kv_a_proj_with_mqa and o_proj.
    n_head : int
        The number of heads; all other sizes are those of the parameters.
    mask : array of bool, shape (n_seq, n_seq) or broadcasting to (n_batch, n_head, n_seq, n_seq), optional
        True where a query attends to a key.
    rotate : callable, optional
        ``rotate(part, positions=positions)`` rotates the last d_rope features of every query and the one key of d_rope
        features that all heads share, both of shape (n_batch, heads, n_seq, d_rope).
    positions : array of int, shape (n_seq,) or (n_batch, n_seq), optional
        Handed to `rotate`.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_nope + d_rope)``.
    eps : float, optional
        Of the norms of the latents.

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

    Notes
    -----
    A rotation cannot be moved from the key to the query, as the product with ``kv_b_proj`` can: so the rotated key is
    a part of its own.  DeepSeek rotates interleaved pairs.

    References
    ----------
    DeepSeek-AI (2024), "DeepSeek-V2", arXiv:2405.04434, eq. 9 to 19 and 37 to 47.
    """
    xp = array_namespace(x, params, mask, positions)
    d_nope, _ = check_latent(x, params, n_head, mask)
    q, q_pullback = _queries(xp, x, params, n_head, d_nope, rotate, positions, eps)
    (latent, k_rope), compressed_pullback = _compressed(xp, x, params, rotate, positions, eps)
    made, made_pullback = linear(latent, scope(params, "kv_b_proj."))
    k_nope, v = xp.split(split_heads(made, n_head), [d_nope], axis=-1)
    k = xp.concatenate([k_nope, xp.concatenate([k_rope] * n_head, axis=1)], axis=-1)
    gathered, attention_pullback = attention(q, k, v, mask=mask, scale=scale)
    y, out_pullback = linear(join_heads(gathered), scope(params, "o_proj."))

    def pullback(dy):
        djoined, dout = out_pullback(dy)
        dq, dk, dv = attention_pullback(split_heads(djoined, n_head))
        # One rotated key served all heads.
        dk_rope = xp.sum(dk[..., d_nope:], axis=1, keepdims=True)
        dlatent, dmade = made_pullback(join_heads(xp.concatenate([dk[..., :d_nope], dv], axis=-1)))
        dx_kv, dof_kv = compressed_pullback((dlatent, dk_rope))
        dx_q, dof_q = q_pullback(dq)
        dparams = merge(dof_q, dof_kv, add_prefix("kv_b_proj.", dmade), add_prefix("o_proj.", dout))
        return dx_q + dx_kv, keyed_as(dparams, params)

    return y, pullback


def absorbed_latent_attention(x, params, *, n_head, mask=None, rotate=None, positions=None, scale=None, eps=1e-6):
    """Compute the same without making keys and values: every query looks at the latents themselves.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequence.
    params : dict of array
        As for `latent_attention`.
    n_head : int
        The number of heads.
    mask : array of bool, optional
        As for `latent_attention`.
    rotate : callable, optional
        As for `latent_attention`.
    positions : array of int, optional
        As for `latent_attention`.
    scale, eps : float, optional
        As for `latent_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        What `latent_attention` gives, but for rounding.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    With W the part of ``kv_b_proj`` that makes a head's keys, q' (W c) = (W' q)' c: the weight is absorbed by the
    query, and the latent c is the one key, and the one value, of all heads.

    References
    ----------
    DeepSeek-AI (2024), "DeepSeek-V2", arXiv:2405.04434, section 2.1.2.
    """
    xp = array_namespace(x, params, mask, positions)
    d_nope, d_rope = check_latent(x, params, n_head, mask)
    q, q_pullback = _queries(xp, x, params, n_head, d_nope, rotate, positions, eps)
    (latent, k_rope), compressed_pullback = _compressed(xp, x, params, rotate, positions, eps)
    d_latent = latent.shape[-1]
    q_nope, q_rope = xp.split(q, [d_nope], axis=-1)
    to_key, to_value = _by_head(xp, params, n_head, d_nope)
    q_latent = xp.einsum("bhnc,hcl->bhnl", q_nope, to_key)  # (n_batch, n_head, n_seq, d_latent)
    wide_q = xp.concatenate([q_latent, q_rope], axis=-1)
    wide_k = xp.concatenate([latent[:, None], k_rope], axis=-1)  # (n_batch, 1, n_seq, d_latent + d_rope)
    factor = 1.0 / math.sqrt(d_nope + d_rope) if scale is None else scale
    mixed, attention_pullback = grouped_query_attention(wide_q, wide_k, latent[:, None], mask=mask, scale=factor)
    gathered = xp.einsum("bhnl,hvl->bhnv", mixed, to_value)
    y, out_pullback = linear(join_heads(gathered), scope(params, "o_proj."))

    def pullback(dy):
        djoined, dout = out_pullback(dy)
        dgathered = split_heads(djoined, n_head)
        dwide_q, dwide_k, dv = attention_pullback(xp.einsum("bhnv,hvl->bhnl", dgathered, to_value))
        dto_value = xp.einsum("bhnv,bhnl->hvl", dgathered, mixed)
        dq_latent, dq_rope = xp.split(dwide_q, [d_latent], axis=-1)
        dto_key = xp.einsum("bhnc,bhnl->hcl", q_nope, dq_latent)
        dq_nope = xp.einsum("bhnl,hcl->bhnc", dq_latent, to_key)
        # The latent was key and value.
        dlatent = (dwide_k[..., :d_latent] + dv)[:, 0]
        dx_kv, dof_kv = compressed_pullback((dlatent, dwide_k[..., d_latent:]))
        dx_q, dof_q = q_pullback(xp.concatenate([dq_nope, dq_rope], axis=-1))
        dmade = xp.reshape(xp.concatenate([dto_key, dto_value], axis=1), params["kv_b_proj.weight"].shape)
        dparams = merge(dof_q, dof_kv, {"kv_b_proj.weight": dmade}, add_prefix("o_proj.", dout))
        return dx_q + dx_kv, keyed_as(dparams, params)

    return y, pullback


def latent_decode(x, params, past, *, n_head, is_token=None, rotate=None, scale=None, eps=1e-6):
    """Let new positions attend to themselves and to the latents that a cache remembers.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `latent_attention`.
    past : KeyValueCache
        One head of keys (the latent, then the rotated key), and values of size 0: the latent is the value too.
    n_head : int
        The number of heads.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.
    rotate : callable, optional
        As for `latent_attention`; the positions come from the cache.
    scale, eps : float, optional
        As for `latent_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What `latent_attention` gives at these positions of the whole sequence, causally masked.
    KeyValueCache
        The past with the new positions.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, `is_token` not boolean, or dtypes or libraries differ.
    """
    xp = array_namespace(x, params, is_token)
    d_nope, d_rope = check_latent(x, params, n_head, None)
    places = next_positions(past.n_seen, x.shape[1], is_token=is_token)
    positions = xp.where(places >= 0, places, 0)
    q, _ = _queries(xp, x, params, n_head, d_nope, rotate, positions, eps)
    (latent, k_rope), _ = _compressed(xp, x, params, rotate, positions, eps)
    new = xp.concatenate([latent[:, None], k_rope], axis=-1)
    grown = append(past, new, new[..., :0], is_token=is_token)
    to_key, to_value = _by_head(xp, params, n_head, d_nope)
    q_latent = xp.einsum("bhnc,hcl->bhnl", q[..., :d_nope], to_key)
    wide_q = xp.concatenate([q_latent, q[..., d_nope:]], axis=-1)
    factor = 1.0 / math.sqrt(d_nope + d_rope) if scale is None else scale
    latents = grown.k[..., : latent.shape[-1]]
    mixed, _ = grouped_query_attention(wide_q, grown.k, latents, mask=cache_mask(grown, places), scale=factor)
    y, _ = linear(join_heads(xp.einsum("bhnl,hvl->bhnv", mixed, to_value)), scope(params, "o_proj."))
    return y, grown


def _by_head(xp, params, n_head, d_nope):
    """Split the weight that makes keys and values: (n_head, d_nope, d_latent) and (n_head, d_value, d_latent)."""
    weight = params["kv_b_proj.weight"]
    return xp.split(xp.reshape(weight, (n_head, weight.shape[0] // n_head, weight.shape[1])), [d_nope], axis=1)


def _queries(xp, x, params, n_head, d_nope, rotate, positions, eps):
    through_latent = "q_a_proj.weight" in params
    projected, projected_pullback = _low_rank(x, params, eps) if through_latent else _straight(x, params)
    q_nope, q_straight = xp.split(split_heads(projected, n_head), [d_nope], axis=-1)
    q_rope, rotated_pullback = rotated(q_straight, rotate=rotate, positions=positions)
    q = xp.concatenate([q_nope, q_rope], axis=-1)  # (n_batch, n_head, n_seq, d_nope + d_rope)

    def pullback(dq):
        (dstraight,) = rotated_pullback(dq[..., d_nope:])
        return projected_pullback(join_heads(xp.concatenate([dq[..., :d_nope], dstraight], axis=-1)))

    return q, pullback


def _straight(x, params):
    projected, linear_pullback = linear(x, scope(params, "q_proj."))

    def pullback(dprojected):
        dx, dproj = linear_pullback(dprojected)
        return dx, add_prefix("q_proj.", dproj)

    return projected, pullback


def _low_rank(x, params, eps):
    low, low_pullback = linear(x, scope(params, "q_a_proj."))
    normed, norm_pullback = rms_norm(low, scope(params, "q_a_layernorm."), eps=eps, order="cast first")
    projected, high_pullback = linear(normed, scope(params, "q_b_proj."))

    def pullback(dprojected):
        dnormed, dhigh = high_pullback(dprojected)
        dlow, dnorm = norm_pullback(dnormed)
        dx, dlow_proj = low_pullback(dlow)
        dparts = {"q_a_proj.": dlow_proj, "q_a_layernorm.": dnorm, "q_b_proj.": dhigh}
        return dx, merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts.items()))

    return projected, pullback


def _compressed(xp, x, params, rotate, positions, eps):
    d_latent = params["kv_a_layernorm.weight"].shape[0]
    both, both_pullback = linear(x, scope(params, "kv_a_proj_with_mqa."))
    low, k_straight = xp.split(both, [d_latent], axis=-1)
    latent, norm_pullback = rms_norm(low, scope(params, "kv_a_layernorm."), eps=eps, order="cast first")
    k_rope, rotated_pullback = rotated(k_straight[:, None], rotate=rotate, positions=positions)
    parts = (latent, k_rope)  # (n_batch, n_seq, d_latent), (n_batch, 1, n_seq, d_rope)

    def pullback(dparts):
        dlatent, dk_rope = dparts
        (dstraight,) = rotated_pullback(dk_rope)
        dlow, dnorm = norm_pullback(dlatent)
        dx, dproj = both_pullback(xp.concatenate([dlow, dstraight[:, 0]], axis=-1))
        return dx, merge(add_prefix("kv_a_proj_with_mqa.", dproj), add_prefix("kv_a_layernorm.", dnorm))

    return parts, pullback
