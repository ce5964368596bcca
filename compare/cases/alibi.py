"""Attention with ALiBi against PyTorch with the published slopes, and with the biases of Bloom and MPT.

Bloom and MPT add slope times position, not distance.  The numbers are larger, and so is their rounding: with 256 keys
they are 30 sigma off in float32.  So their sequences are short here.
"""

import torch

from compare.cases.attention import torch_attention
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.positions.alibi import alibi_bias, alibi_bias_at, alibi_slopes


def alibi_attention(q, k, v, *, mask=None):
    bias = alibi_bias(q.shape[-2], k.shape[-2], n_head=q.shape[-3], like=q)
    y, pullback_with_bias = attention(q, k, v, bias, mask=mask)

    def pullback(dy):
        dq, dk, dv, _ = pullback_with_bias(dy)
        return dq, dk, dv

    return y, pullback


def inputs(generator, *, n_batch, n_head, n_query, n_key, d_head, causal=True):
    q, k, v = (normal(generator, n_batch, n_head, n, d_head) for n in (n_query, n_key, n_key))
    return Inputs((q, k, v), {"mask": causal_mask(n_query, n_key, like=q)} if causal else {})


def published_slopes(n_head):
    """List slopes by the recursion of the published code."""
    if n_head & (n_head - 1) == 0:
        return [2.0 ** (-(8.0 / n_head) * (i + 1)) for i in range(n_head)]
    below = 2 ** (len(bin(n_head)) - 3)
    return published_slopes(below) + published_slopes(2 * below)[0::2][: n_head - below]


def torch_alibi(q, k, v, *, mask=None):
    n_query, n_key = q.shape[-2], k.shape[-2]
    positions = torch.arange(n_key, device=q.device)
    distance = (positions[n_key - n_query :, None] - positions[None, :]).abs()
    slopes = torch.tensor(published_slopes(q.shape[-3]), dtype=torch.float64, device=q.device)
    return torch_attention(q, k, v, (-slopes[:, None, None] * distance).to(q.dtype), mask=mask)


def alibi_of_models(q, k, v, *, mask=None):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor  # takes seconds to import
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    n_head, n_key = q.shape[-3], k.shape[-2]
    if q.shape[0] % 2:
        bloom = build_alibi_tensor(torch.ones(1, n_key, dtype=torch.int64), n_head, q.dtype)  # (n_head, 1, n_key)
        return torch_attention(q, k, v, bloom, mask=mask)
    return torch_attention(q, k, v, build_mpt_alibi_tensor(n_head, n_key).to(q.dtype), mask=mask)


def _wrong_bias(old="", new="", **names):
    """Edit what makes the bias of positions, wherever they are."""
    bias = rewritten(alibi_bias, alibi_bias_at=rewritten(alibi_bias_at, old, new, **names))
    return rewritten(alibi_attention, alibi_bias=bias)


def _wrong_positions(old, new):
    return rewritten(alibi_attention, alibi_bias=rewritten(alibi_bias, old, new))


BUGS = {
    "slopes of another number of heads": _wrong_bias(alibi_slopes=lambda n: alibi_slopes(2 * n)[:n]),
    "one series for any number of heads": _wrong_bias(
        alibi_slopes=lambda n: [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]
    ),
    "steeper with the head": _wrong_bias(alibi_slopes=lambda n: alibi_slopes(n)[::-1]),
    "nearer is worse": _wrong_bias("ahead > 0, -ahead, ahead", "ahead > 0, ahead, -ahead"),
}

CASES = [
    Case(
        name="alibi",
        section="positions",
        title="Attention with linear biases (ALiBi)",
        reference=alibi_attention,
        inputs=inputs,
        configs=(
            Config("heads4", {"n_batch": 2, "n_head": 4, "n_query": 6, "n_key": 6, "d_head": 5}),
            Config("heads12", {"n_batch": 2, "n_head": 12, "n_query": 3, "n_key": 7, "d_head": 4}),
            Config("both_ways", {"n_batch": 2, "n_head": 3, "n_query": 5, "n_key": 5, "d_head": 4, "causal": False}),
            *(
                Config(
                    f"heads{n}", {"n_batch": 1, "n_head": n, "n_query": 5, "n_key": 40, "d_head": 8}, profile="full"
                )
                for n in (1, 2, 7, 20, 71, 112)
            ),
            Config("wide", {"n_batch": 3, "n_head": 12, "n_query": 256, "n_key": 256, "d_head": 64}, measured=True),
        ),
        peers={"torch": torch_alibi},
        bugs={
            **BUGS,
            "past of the cache forgotten": _wrong_positions("xp.arange(n_key - n_query, n_key)", "xp.arange(n_query)"),
            "keys ahead are near": _wrong_bias("ahead > 0, -ahead, ahead", "ahead > 0, 0, ahead"),
        },
    ),
    Case(
        name="alibi_of_models",
        section="positions",
        title="ALiBi of Bloom and MPT",
        reference=alibi_attention,
        inputs=inputs,
        configs=(
            Config("bloom", {"n_batch": 3, "n_head": 12, "n_query": 6, "n_key": 6, "d_head": 5}),
            Config("mpt", {"n_batch": 2, "n_head": 6, "n_query": 3, "n_key": 7, "d_head": 4}),
        ),
        peers={"transformers": alibi_of_models},
        bugs=BUGS,
        # Their slopes are float32 whatever comes in.
        dtypes=("float32", "float16", "bfloat16"),
    ),
]
