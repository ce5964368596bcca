"""Transformer-XL's attention, against XLNet's and against encodings gathered pair by pair."""

import math
from types import SimpleNamespace

import torch
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from compare.cases.relative_shift import SHIFT_BUGS
from refimpl.attention.relative.attention import relative_attention


def inputs(generator, *, n_batch, n_head, n_query, n_key, d_head, d_value, padded=False):
    shapes = ((n_batch, n_head, n, d) for n, d in ((n_query, d_head), (n_key, d_head), (n_key, d_value)))
    arrays = [normal(generator, *shape) for shape in (*shapes, (n_head, n_key, d_head))]
    biases = [normal(generator, n_head, d_head) for _ in range(2)]
    is_token = generator.random((n_batch, 1, 1, n_key)) < 0.7
    is_token[..., 0] = True  # XLNet has no answer where there is no key
    return Inputs((*arrays, *biases), {"mask": is_token} if padded else {})


def torch_gathered(q, k, v, r, content_bias, position_bias, *, mask=None, scale=None):
    """Give every pair of a query and a key the encoding of its distance."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    distance = torch.arange(n_query)[:, None] + (n_key - n_query) - torch.arange(n_key)[None, :]
    of_pairs = r[:, (n_key - 1 - distance).clamp(0, n_key - 1)]  # (n_head, n_query, n_key, d_head)
    content = (q + content_bias[:, None]) @ k.mT
    position = torch.einsum("bhid,hijd->bhij", q + position_bias[:, None], of_pairs)
    seen = distance >= 0 if mask is None else (distance >= 0) & mask
    scores = ((content + position) * (q.shape[-1] ** -0.5 if scale is None else scale)).masked_fill(~seen, -math.inf)
    empty = ~seen.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0) @ v


def xlnet(q, k, v, r, content_bias, position_bias, *, mask=None, scale=None):
    """XLNet's own text on our biases; its encodings begin one distance farther away, which no key has."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    module = SimpleNamespace(
        r_w_bias=content_bias, r_r_bias=position_bias, scale=q.shape[-1] ** -0.5 if scale is None else scale,
        dropout=lambda x: x, rel_shift_bnij=XLNetRelativeAttention.rel_shift_bnij,
    )  # fmt: skip
    seen = torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query)
    seen = (seen if mask is None else seen & mask).expand(q.shape[0], 1, n_query, n_key)
    farther = torch.nn.functional.pad(r.moveaxis(1, 0)[:, None], (0, 0, 0, 0, 0, 0, 1, n_query - 1))
    first = lambda x: x.permute(2, 0, 1, 3)  # noqa: E731 (positions, batch, heads, features)
    y = XLNetRelativeAttention.rel_attn_core(
        module, first(q), first(k), first(v), farther, attn_mask=(~seen).permute(2, 3, 0, 1).to(q.dtype)
    )
    return y.permute(1, 2, 0, 3)


BUGS = {
    **{
        name: rewritten(relative_attention, relative_shift=bug)
        for name, bug in SHIFT_BUGS.items()
        if "junk" not in name
    },
    "junk after the diagonal attended": rewritten(relative_attention, "causal_mask(q.shape[-2], k.shape[-2], like=q)",
        "causal_mask(q.shape[-2], k.shape[-2] + q.shape[-2], like=q)[:, : k.shape[-2]]"),
    "biases exchanged": rewritten(
        relative_attention, "of_content = queries + content_bias", "of_content = queries + position_bias"
    ),
    "no position bias": rewritten(relative_attention, "queries + position_bias[:, None, :]", "queries"),
    "positions not scaled": rewritten(
        relative_attention, "xp.matmul(of_position, xp.swapaxes(r, -1, -2)) * factor",
        "xp.matmul(of_position, xp.swapaxes(r, -1, -2))",
    ),
    "gradient of q without the positions": rewritten(relative_attention, "dof_content + dof_position", "dof_content"),
    "gradient of r without scale": rewritten(relative_attention, "of_position) * factor", "of_position)"),
    "encodings of one head for all": rewritten(
        relative_attention, "xp.swapaxes(r, -1, -2))", "xp.swapaxes(r[:1], -1, -2))"
    ),
}  # fmt: skip
CASES = [
    Case(
        name="relative_attention",
        section="attention",
        title="Relative attention of Transformer-XL",
        reference=relative_attention,
        inputs=inputs,
        configs=(
            Config("segment", {"n_batch": 2, "n_head": 3, "n_query": 5, "n_key": 5, "d_head": 4, "d_value": 4}),
            Config(
                "memory",
                {"n_batch": 2, "n_head": 3, "n_query": 4, "n_key": 9, "d_head": 5, "d_value": 6},
                {"scale": 0.3},
            ),
            Config("one_query", {"n_batch": 2, "n_head": 2, "n_query": 1, "n_key": 6, "d_head": 3, "d_value": 4}),
            Config(
                "padding",
                {"n_batch": 3, "n_head": 2, "n_query": 4, "n_key": 6, "d_head": 5, "d_value": 3, "padded": True},
            ),
            Config("one_wide", {"n_batch": 2, "n_head": 1, "n_query": 3, "n_key": 4, "d_head": 1, "d_value": 1}),
            Config(
                "wide",
                {"n_batch": 1, "n_head": 4, "n_query": 128, "n_key": 256, "d_head": 32, "d_value": 32},
                measured=True,
            ),
        ),
        peers={"torch": torch_gathered, "XLNet": xlnet},
        bugs=BUGS,
    ),
]
