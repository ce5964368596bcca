"""The weights of scaled dot-product attention, against the same formula in PyTorch."""

import math

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.dot_product import attention_weights
from refimpl.attention.mask import causal_mask
from refimpl.layers.softmax import softmax


def inputs(generator, *, lead, n_query, n_key, d_head, scale=1.0, bias=None, mask=None):
    q = normal(generator, *lead, n_query, d_head, scale=scale)
    k = normal(generator, *lead, n_key, d_head, scale=scale)
    biases = () if bias is None else (draw_bias(generator, bias, n_key),)
    return Inputs((q, k, *biases), {} if mask is None else {"mask": draw_mask(generator, mask, lead, n_query, n_key)})


def draw_bias(generator, shape, n_key):
    """Draw additive scores, some of which are minus infinity: an additive mask."""
    bias = normal(generator, *shape)
    bias[..., n_key // 2] = -math.inf
    return bias


def draw_mask(generator, kind, lead, n_query, n_key):
    """Draw one of the kinds of masks that attention meets; lead is (n_batch, n_head) where lengths differ."""
    if kind == "causal":
        return causal_mask(n_query, n_key, like=generator.random(1))
    if kind == "random":
        return generator.random((n_query, n_key)) < 0.6
    if kind == "per head":
        return generator.random((*lead, n_query, n_key)).argsort(-1) < generator.integers(1, n_key, (*lead, 1, 1))
    if kind == "padding":
        lengths = generator.permutation(n_key - 1)[: lead[0]] + 1
        return (lengths[:, None] > range(n_key))[:, None, None, :]  # (n_batch, 1, 1, n_key)
    is_empty = (generator.permutation(n_query) < max(n_query // 2, 1))[:, None]
    return ~is_empty & (generator.random((n_query, n_key)) < 0.8)  # "empty rows"


def torch_scores(q, k, bias=None, *, mask=None, scale=None, softcap=None):
    """Scores with minus infinity where a query does not attend."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    capped = scores if softcap is None else softcap * torch.tanh(scores / softcap)
    biased = capped if bias is None else capped + bias
    return biased if mask is None else biased.masked_fill(~mask, -math.inf)


def torch_weights(q, k, bias=None, **settings):
    scores = torch_scores(q, k, bias, **settings)
    # PyTorch's softmax gives NaN for a row of minus infinities; we say 0.
    empty = (scores == -math.inf).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


def masked_after(x, *, mask=None, axis=-1):
    """Softmax that forgets the mask until it is too late: the weights of a row no longer sum to 1."""
    y, pullback = softmax(x, axis=axis)
    return (y, pullback) if mask is None else (y * mask, lambda dy: pullback(dy * mask))


def first_only(x, shape):
    """Take the first entry of the broadcast axes instead of their sum."""
    kept = x[(0,) * (x.ndim - len(shape))]
    return kept[tuple(slice(0, n) for n in shape)]


WEIGHT_BUGS = {
    "scale by d": {"old": "1.0 / math.sqrt(q.shape[-1])", "new": "1.0 / q.shape[-1]"},
    "scale off by 0.1 %": {"old": "1.0 / math.sqrt(q.shape[-1])", "new": "1.001 / math.sqrt(q.shape[-1])"},
    "softmax over queries": {"old": "softmax(biased, mask=mask)", "new": "softmax(biased, mask=mask, axis=-2)"},
    "mask after softmax": {"softmax": masked_after},
    "softcap after the mask": {
        "old": "softmax(biased, mask=mask)",
        "new": "softmax(biased, mask=mask) if cap is None or mask is None else "
        "softmax(xp.where(mask, biased, -cap))",
    },
    "gradient without its row-sum term": {"softmax": rewritten(softmax, "(dy - along_weights)", "dy")},
    "gradient of q without scale": {
        "old": "dq = xp.matmul(dproducts, keys) * factor",
        "new": "dq = xp.matmul(dproducts, keys)",
    },
    "gradient of k not transposed": {
        "old": "xp.matmul(xp.swapaxes(dproducts, -1, -2), queries)",
        "new": "xp.matmul(dproducts, queries)",
    },
    "gradient of the softcap forgotten": {
        "old": "dbiased if cap is None else dbiased",
        "new": "dbiased if True else dbiased",
    },
    "gradient of the bias not summed": {"sum_to": first_only},
}


def wrong_weights(name):
    """Build one of the wrong variants; what attention is made of can be wrong in the same ways."""
    return rewritten(attention_weights, **WEIGHT_BUGS[name])


CASES = [
    Case(
        name="attention_weights",
        section="attention",
        title="Attention weights",
        reference=attention_weights,
        inputs=inputs,
        configs=(
            Config("rank2", {"lead": (), "n_query": 5, "n_key": 9, "d_head": 7}),
            Config("rank4", {"lead": (2, 3), "n_query": 6, "n_key": 6, "d_head": 5}),
            Config("scaled", {"lead": (3,), "n_query": 4, "n_key": 8, "d_head": 6}, {"scale": 0.3}),
            Config("sharp", {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 16, "scale": 4.0}),
            Config(
                "softcap",
                {"lead": (3,), "n_query": 4, "n_key": 6, "d_head": 5, "scale": 2.0, "mask": "random"},
                {"softcap": 2.0},
            ),
            Config("bias", {"lead": (2, 3), "n_query": 4, "n_key": 6, "d_head": 5, "bias": (3, 1, 6)}),
            Config("padding", {"lead": (4, 3), "n_query": 5, "n_key": 8, "d_head": 2, "mask": "padding"}),
            Config("empty_rows", {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 3, "mask": "empty rows"}),
            Config("one_wide", {"lead": (2,), "n_query": 3, "n_key": 5, "d_head": 1}),
            Config("wide", {"lead": (8,), "n_query": 256, "n_key": 256, "d_head": 64}, measured=True),
        ),
        peers={"torch": torch_weights},
        bugs={name: wrong_weights(name) for name in WEIGHT_BUGS},
    )
]
