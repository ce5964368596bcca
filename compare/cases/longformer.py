"""Longformer's attention, against Hugging Face with the same weights and against dense scores in PyTorch."""

import math
from functools import cache
from unittest import mock

import torch
from transformers import LongformerConfig
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from compare.cases import scaling_study
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.torch_peer import call_module
from refimpl.attention.sparse import longformer
from refimpl.attention.sparse.longformer import GLOBAL, LOCAL, longformer_attention


def inputs(generator, *, n_batch, n_seq, d_model, n_global, padded=False, biased=True):
    weights = {f"{name}.weight": (d_model, d_model) for name in LOCAL + GLOBAL}
    biases = {f"{name}.bias": (d_model,) for name in LOCAL + GLOBAL} if biased else {}
    masks = {}
    global_ids = generator.random((n_batch, n_seq)).argsort(1)[:, :n_global]
    if n_global > 1:
        global_ids[0, -1] = n_seq  # the first sequence has one fewer
    if padded:
        n_token = generator.integers(n_seq // 2, n_seq, (n_batch, 1))
        masks["mask"] = (range(n_seq) < n_token)[:, None, None, :]
        global_ids[global_ids >= n_token] = n_seq
    x, params = normal(generator, n_batch, n_seq, d_model), normal_params(generator, weights | biases)
    return Inputs((x, global_ids, params), masks)


@cache
def _module(d_model, n_head, reach):
    config = LongformerConfig(
        hidden_size=d_model, num_attention_heads=n_head, attention_window=[2 * reach], attention_probs_dropout_prob=0.0
    )
    with torch.device("meta"):
        return LongformerSelfAttention(config, 0).eval()


def transformers_longformer(x, global_ids, params, *, n_head, reach, mask=None):
    """Pad to whole windows, as `LongformerModel` does, and mark padding by -1 and global tokens by 1."""
    n_batch, n_seq, d_model = x.shape
    n_filler = -n_seq % (2 * reach)
    marks = torch.zeros(n_batch, n_seq + 1, dtype=x.dtype).scatter(1, global_ids, 1.0)[:, :n_seq]
    if mask is not None:
        marks = marks.masked_fill(~mask[:, 0, 0], -1.0)
    marks = torch.nn.functional.pad(marks, (0, n_filler), value=-1.0)
    softmax = torch.nn.functional.softmax
    # Its softmax computes in float32 whatever the dtype; float64 shall stay float64.
    wide = lambda scores, dim, dtype: softmax(scores, dim, dtype=max(dtype, scores.dtype, key=lambda t: t.itemsize))  # noqa: E731
    with mock.patch.object(torch.nn.functional, "softmax", wide):
        (y,) = call_module(
            _module(d_model, n_head, reach), params, torch.nn.functional.pad(x, (0, 0, 0, n_filler)), marks,
            is_index_masked=marks < 0, is_index_global_attn=marks > 0, is_global_attn=bool((marks > 0).any()),
        )  # fmt: skip
    return y[:, :n_seq]


def torch_longformer(x, global_ids, params, *, n_head, reach, mask=None):
    """Compute all scores twice, by local and by global projections, and choose by the row."""
    n_batch, n_seq, d_model = x.shape
    is_token = torch.ones(n_batch, n_seq, dtype=torch.bool) if mask is None else mask[:, 0, 0]
    is_global = torch.zeros(n_batch, n_seq + 1, dtype=torch.bool).scatter(1, global_ids, True)[:, :n_seq]
    near = torch.ones(n_seq, n_seq, dtype=torch.bool).triu(-reach).tril(reach)
    y = []
    for names, seen in ((LOCAL, near | is_global[:, None, :]), (GLOBAL, torch.ones(1, 1, n_seq, dtype=torch.bool))):
        q, k, v = (
            torch.nn.functional.linear(x, params[f"{name}.weight"], params.get(f"{name}.bias"))
            .view(n_batch, n_seq, n_head, -1).transpose(1, 2) for name in names
        )  # fmt: skip
        scores = (q @ k.mT / math.sqrt(d_model // n_head)).masked_fill(~(seen & is_token[:, None, :])[:, None], -1e4)
        y.append((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(x.shape))
    return torch.where(is_global[..., None], y[1], y[0]).masked_fill(~is_token[..., None], 0.0)


def wrong_local(old="", new="", **names):
    return rewritten(longformer_attention, _attend_locally=rewritten(longformer._attend_locally, old, new, **names))


def wrong_global(old, new):
    return rewritten(longformer_attention, _attend_globally=rewritten(longformer._attend_globally, old, new))


BUGS = {
    "global queries projected like local ones": wrong_global('"query_global."))\n', '"query."))\n'),
    "global keys and values projected like local ones": wrong_global(
        "_projections(x, params, GLOBAL[1:])", "_projections(x, params, LOCAL[1:])"
    ),
    "global token that is near counted twice": wrong_local("(seen & ~is_global)", "seen"),
    "global tokens not seen by others": wrong_local("hits & seen[:, None, :]", "hits & ~(hits | ~hits)"),
    "missing global token seen as a row of zeros": wrong_local(
        "xp.any(hits & seen[:, None, :], axis=-1)", "xp.any(hits | seen[:, None, :], axis=-1)"
    ),
    "reach off by one": wrong_local("left=reach, right=reach", "left=reach, right=reach - 1"),
    "reach to one side only": wrong_local("left=reach, right=reach", "left=reach, right=0"),
    "merged as a plain mean": wrong_local(merge_attention=lambda outputs, lses: (
        (outputs.mean(0), lses[0]), lambda dy: (outputs * 0.0 + dy[0] / 2.0, lses * 0.0)
    )),
    "padding seen by global tokens": wrong_global("mask=seen[:, None, None, :]", "mask=None"),
    "padding has an output": rewritten(
        longformer_attention, "y = xp.where(seen[..., None], xp", "y = xp.where(seen[..., None] | True, xp"
    ),
    "gradient of x through the global rows forgotten": wrong_global("dx + dx_rows", "dx"),
    "gradient of the gathered keys forgotten": wrong_local("dk + dk_gathered", "dk"),
    "local gradient at global positions": rewritten(
        longformer_attention, "xp.where(is_global[..., None], 0.0, dseen)", "dseen"
    ),
}  # fmt: skip

CASES = [
    Case(
        name="longformer_attention",
        section="attention",
        title="Longformer attention, local and global",
        reference=longformer_attention,
        inputs=inputs,
        configs=(
            Config("plain", {"n_batch": 2, "n_seq": 12, "d_model": 6, "n_global": 2}, {"n_head": 2, "reach": 2}),
            Config(
                "padding",
                {"n_batch": 3, "n_seq": 10, "d_model": 8, "n_global": 3, "padded": True},
                {"n_head": 4, "reach": 2},
            ),
            Config("no_global", {"n_batch": 2, "n_seq": 9, "d_model": 6, "n_global": 0}, {"n_head": 3, "reach": 2}),
            Config("wide_reach", {"n_batch": 2, "n_seq": 7, "d_model": 4, "n_global": 1}, {"n_head": 1, "reach": 8}),
            *(
                Config(
                    f"n_{n}",
                    {"n_batch": 1, "n_seq": n, "d_model": 64, "n_global": 2},
                    {"n_head": 2, "reach": 32},
                    measured=True,
                    profile="quick" if n == 256 else "full",
                )
                for n in (256, 1024)
            ),
        ),
        peers={"transformers": transformers_longformer, "torch": torch_longformer},
        bugs=BUGS,
        study=scaling_study.longformer_study,
    ),
]
