"""Multi-head attention, against `torch.nn.MultiheadAttention`."""

from functools import partial
from unittest import mock

import torch

from compare.cases.attention import attention, with_wrong_weights
from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.torch_peer import call_module, meta_module
from refimpl.arrays import array_namespace
from refimpl.attention import multi_head
from refimpl.attention.multi_head import multi_head_attention
from refimpl.layers.dropout import dropout, keep_mask


def attention_shapes(d_model, *, d_key=None, d_value=None, biased=True):
    """Shapes of the parameters, as `torch.nn.MultiheadAttention` names them."""
    weights = {"in_proj_weight": (3 * d_model, d_model)}
    if d_key is not None:
        sizes = {"q": d_model, "k": d_key, "v": d_value}
        weights = {f"{name}_proj_weight": (d_model, size) for name, size in sizes.items()}
    biases = {"in_proj_bias": (3 * d_model,), "out_proj.bias": (d_model,)} if biased else {}
    return {**weights, **biases, "out_proj.weight": (d_model, d_model)}


def inputs(
    generator, *, arguments, n_batch, n_head, n_query, n_key, d_model, d_key=None, d_value=None, scale=1.0,
    mask=None, rate=None, biased=True,
):  # fmt: skip
    shapes = {"q": (n_query, d_model), "k": (n_key, d_key or d_model), "v": (n_key, d_value or d_model)}
    arrays = [normal(generator, n_batch, *shapes[name], scale=scale) for name in arguments]
    params = normal_params(generator, attention_shapes(d_model, d_key=d_key, d_value=d_value, biased=biased))
    masks = {} if mask is None else {"mask": draw_mask(generator, mask, (n_batch, n_head), n_query, n_key)}
    if rate is not None:
        masks["keep"] = keep_mask(generator, (n_batch, n_head, n_query, n_key), rate=rate)
    return Inputs((*arrays, params), masks)


def torch_mask(mask, shape):
    """Give a mask PyTorch's form and sense: (n_batch * n_head, n_query, n_key), True where nothing is attended."""
    return None if mask is None else ~mask.expand(shape).reshape(-1, *shape[-2:])


def torch_multi_head(q, k, v, params, *, n_head, mask=None, keep=None, rate=0.0):
    module = meta_module(
        torch.nn.MultiheadAttention, q.shape[-1], n_head, dropout=rate, bias="in_proj_bias" in params, batch_first=True,
        kdim=k.shape[-1], vdim=v.shape[-1],
    ).train(keep is not None)  # fmt: skip
    shape = (q.shape[0], n_head, q.shape[1], k.shape[1])
    has_key = None if mask is None else mask.any(-1, keepdim=True)
    forbidden = None if mask is None else torch_mask(mask | ~has_key, shape)
    # Behind a mask the output bias is added outside: it is all that a query with no key gets, and as two sums, over
    # the queries with and without keys, its 16-bit gradient would be rounded twice and might then cancel.
    bias = params.get("out_proj.bias") if mask is not None else None
    inner = params if bias is None else {**params, "out_proj.bias": torch.zeros_like(bias)}
    # The same dropout mask as ours, instead of one that PyTorch draws; only the form with weights calls this function.
    given = mock.patch.object(torch.nn.functional, "dropout", lambda x, p: x * keep.view(x.shape) * (1.0 / (1.0 - p)))
    with given:
        y, _ = call_module(module, inner, q, k, v, attn_mask=forbidden, need_weights=keep is not None)
    if mask is None:
        return y
    # PyTorch gives NaN where a query attends to no key in any head; we gather nothing and add the output bias.
    gathered = torch.where(has_key.expand(*shape[:3], 1).any(1), y, torch.zeros_like(y))
    return gathered if bias is None else gathered + bias


def interleaved(x, n_head):
    """Split features into heads as (d_head, n_head) instead of (n_head, d_head)."""
    xp = array_namespace(x)
    n_batch, n_seq, d_model = x.shape
    return xp.moveaxis(xp.reshape(x, (n_batch, n_seq, d_model // n_head, n_head)), 3, 1)


def unswapped(x, n_head):
    """Reshape where heads and positions should have been swapped."""
    xp = array_namespace(x)
    n_batch, n_seq, d_model = x.shape
    return xp.reshape(x, (n_batch, n_head, n_seq, d_model // n_head))


MULTI_HEAD_BUGS = {
    "scale by sqrt(d_model)": {"old": "heads_v, mask=mask", "new": "heads_v, mask=mask, scale=d_model**-0.5"},
    "heads interleaved": {
        "split_heads": interleaved,
        "_project": rewritten(multi_head._project, split_heads=interleaved),
    },
    "heads not swapped with positions": {
        "split_heads": unswapped,
        "_project": rewritten(multi_head._project, split_heads=unswapped),
    },
    "queries and keys exchanged": {"old": "of_q, of_k, of_v = _pro", "new": "of_k, of_q, of_v = _pro"},
    "mask ignored": {
        "old": "core(heads_q, heads_k, heads_v, mask=mask",
        "new": "core(heads_q, heads_k, heads_v, mask=None",
    },
    "softmax over queries": {"attention": with_wrong_weights("softmax over queries")},
    "softmax gradient without its row-sum term": {"attention": with_wrong_weights("gradient without its row-sum term")},
    "dropout not rescaled": {
        "attention": rewritten(
            attention, dropout=rewritten(dropout, "1.0 / (1.0 - rate) if rate < 1.0 else 0.0", "1.0")
        )
    },
}


def wrong_multi_head(name):
    """Build one of the wrong variants."""
    return rewritten(multi_head_attention, **MULTI_HEAD_BUGS[name])


CASES = [
    Case(
        name="multi_head_attention",
        section="attention",
        title="Multi-head attention",
        reference=multi_head_attention,
        inputs=partial(inputs, arguments="qkv"),
        configs=(
            Config("plain", {"n_batch": 2, "n_query": 4, "n_key": 5, "d_model": 12, "n_head": 3}, {"n_head": 3}),
            Config(
                "separate",
                {
                    "n_batch": 2,
                    "n_query": 5,
                    "n_key": 4,
                    "d_model": 6,
                    "n_head": 2,
                    "d_key": 7,
                    "d_value": 3,
                    "mask": "random",
                },
                {"n_head": 2},
            ),
            Config(
                "per_head",
                {"n_batch": 3, "n_query": 4, "n_key": 6, "d_model": 10, "n_head": 2, "mask": "per head"},
                {"n_head": 2},
            ),
            Config(
                "dropout",
                {"n_batch": 2, "n_query": 4, "n_key": 5, "d_model": 9, "n_head": 3, "rate": 0.2, "biased": False},
                {"n_head": 3, "rate": 0.2},
            ),
        ),
        peers={"torch": torch_multi_head},
        bugs={name: wrong_multi_head(name) for name in MULTI_HEAD_BUGS},
    ),
]
