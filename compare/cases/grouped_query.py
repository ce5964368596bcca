"""Grouped-query and multi-query attention, against heads repeated in PyTorch and against PyTorch's own grouping."""

import torch

from compare.cases.attention import torch_attention
from compare.cases.attention_weights import draw_bias, draw_mask, wrong_weights
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.dot_product import attention
from refimpl.attention.grouped import attention as grouped
from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.layers.dropout import keep_mask


def inputs(
    generator, *, n_batch, n_head, n_kv_head, n_query, n_key, d_head, d_value, scale=1.0, bias=None, mask=None,
    rate=None,
):  # fmt: skip
    q = normal(generator, n_batch, n_head, n_query, d_head, scale=scale)
    k = normal(generator, n_batch, n_kv_head, n_key, d_head, scale=scale)
    v = normal(generator, n_batch, n_kv_head, n_key, d_value, scale=scale)
    biases = () if bias is None else (draw_bias(generator, bias, n_key),)
    masks = {} if mask is None else {"mask": draw_mask(generator, mask, (n_batch, n_head), n_query, n_key)}
    if rate is not None:
        masks["keep"] = keep_mask(generator, (n_batch, n_head, n_query, n_key), rate=rate)
    return Inputs((q, k, v, *biases), masks)


def torch_grouped(q, k, v, bias=None, **settings):
    n_group = q.shape[-3] // k.shape[-3]
    many_k, many_v = (torch.repeat_interleave(x, n_group, dim=-3) for x in (k, v))
    return torch_attention(q, many_k, many_v, bias, **settings)


def torch_gqa(q, k, v, *, mask=None, scale=None):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)


def with_wrong_repeat(old, new):
    """Grouped-query attention whose heads are repeated, or summed, in a wrong way."""
    return rewritten(grouped_query_attention, _repeat_heads=rewritten(grouped._repeat_heads, old, new))


BUGS = {
    "heads tiled instead of repeated": with_wrong_repeat(
        "xp.stack([x] * n_group, axis=x.ndim - 2)", "xp.stack([x] * n_group, axis=x.ndim - 3)"
    ),
    "gradient of the group not summed": with_wrong_repeat(
        "xp.sum(xp.reshape(dmany, (*batch, n_head, n_group, n_seq, d)), axis=x.ndim - 2)",
        "xp.reshape(dmany, (*batch, n_head, n_group, n_seq, d))[..., 0, :, :]",
    ),
    "gradient of the group averaged": with_wrong_repeat("xp.sum(xp.reshape(dmany", "xp.mean(xp.reshape(dmany"),
    "gradient summed over tiled heads": with_wrong_repeat(
        "(*batch, n_head, n_group, n_seq, d)), axis=x.ndim - 2", "(*batch, n_group, n_head, n_seq, d)), axis=x.ndim - 3"
    ),
    "values of the other group": rewritten(
        grouped_query_attention,
        "_repeat_heads(xp, v, n_group)",
        "_repeat_heads(xp, v if n_group == 1 else v[..., ::-1, :, :], n_group)",
    ),
    "mask of the first head for all": rewritten(
        grouped_query_attention, "mask=mask,", "mask=None if mask is None else mask[..., :1, :, :],"
    ),
    "scale by d": rewritten(
        grouped_query_attention, attention=rewritten(attention, attention_weights=wrong_weights("scale by d"))
    ),
}

SIZES = {"n_batch": 2, "n_query": 4, "n_key": 5, "d_head": 3, "d_value": 3}

CASES = [
    Case(
        name="grouped_query_attention",
        section="attention",
        title="Grouped-query attention",
        reference=grouped_query_attention,
        inputs=inputs,
        configs=(
            Config("grouped", {**SIZES, "n_head": 6, "n_kv_head": 3, "d_value": 7, "mask": "per head"}),
            Config("multi_query", {**SIZES, "n_head": 4, "n_kv_head": 1, "bias": (4, 1, 5)}, {"scale": 0.4}),
            Config(
                "dropout",
                {**SIZES, "n_head": 4, "n_kv_head": 2, "rate": 0.3, "scale": 2.0},
                {"rate": 0.3, "softcap": 2.0},
            ),
            Config("one_head_each", {**SIZES, "n_head": 3, "n_kv_head": 3, "d_head": 1, "d_value": 1}, profile="full"),
        ),
        peers={"torch": torch_grouped},
        bugs=BUGS,
    ),
    Case(
        name="grouped_query_kernels",
        section="attention",
        title="Grouped-query attention against PyTorch's enable_gqa",
        reference=grouped_query_attention,
        inputs=inputs,
        configs=(
            Config("causal", {**SIZES, "n_head": 6, "n_kv_head": 2, "mask": "causal"}),
            Config("one_query", {**SIZES, "n_head": 4, "n_kv_head": 2, "n_query": 1, "n_key": 8, "mask": "causal"}),
            Config("empty_rows", {**SIZES, "n_head": 4, "n_kv_head": 1, "mask": "empty rows"}, {"scale": 0.4}),
            Config("padding", {**SIZES, "n_head": 9, "n_kv_head": 3, "mask": "padding"}, profile="full"),
            Config("more_queries", {**SIZES, "n_head": 4, "n_kv_head": 2, "n_query": 9}, profile="full"),
            Config(
                "wide",
                {
                    "n_batch": 1,
                    "n_head": 8,
                    "n_kv_head": 2,
                    "n_query": 256,
                    "n_key": 256,
                    "d_head": 64,
                    "d_value": 64,
                    "mask": "causal",
                },
                measured=True,
            ),
        ),
        peers={"torch": torch_gqa},
        bugs={name: bug for name, bug in BUGS.items() if "mask" not in name},
    ),
]
