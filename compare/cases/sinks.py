"""Attention with learned sinks, against the attention of GPT-OSS and against a softmax with one more column."""

from types import SimpleNamespace

import torch

from compare.cases.attention_weights import first_only, torch_scores
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.draw import normal
from compare.cases.grouped_query import SIZES
from compare.cases.grouped_query import inputs as grouped_inputs
from refimpl.attention import sinks
from refimpl.attention.sinks import sink_attention, streaming_mask


def inputs(generator, *, n_head, streaming=None, **sizes):
    drawn = grouped_inputs(generator, n_head=n_head, **sizes)
    q, k, v, *bias = drawn.args
    sink = normal(generator, n_head, scale=2.0)
    masks = drawn.masks
    if streaming is not None:
        masks = {"mask": streaming_mask(q.shape[-2], k.shape[-2], like=q, **streaming)}
    return type(drawn)((q, k, v, sink, *bias), masks)


def torch_sinks(q, k, v, sink, bias=None, **settings):
    n_group = q.shape[1] // k.shape[1]
    many_k, many_v = (torch.repeat_interleave(x, n_group, dim=1) for x in (k, v))
    scores = torch_scores(q, many_k, bias, **settings)
    of_sink = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([of_sink, scores], -1), -1)[..., 1:] @ many_v


def gpt_oss(q, k, v, sink, bias=None, *, mask=None, scale=None):
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward  # takes seconds to import

    added = torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype) if bias is None else bias
    added = added if mask is None else (added + 0.0 * mask).masked_fill(~mask, -torch.inf)
    module = SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], sinks=sink, training=False)
    y, _ = eager_attention_forward(module, q, k, v, added, q.shape[-1] ** -0.5 if scale is None else scale)
    return y.transpose(1, 2)


def with_sink_in_the_numerator(q, k, v, sink, bias=None, **settings):
    """Let the sink give the value of the last key instead of none."""
    return rewritten(
        sink_attention,
        "values = xp.concatenate([v, xp.zeros((*v.shape[:-2], 1, v.shape[-1]), dtype=v.dtype)], axis=-2)",
        "values = xp.concatenate([v, v[..., -1:, :]], axis=-2)",
    )(q, k, v, sink, bias, **settings)


BUGS = {
    "sink in the numerator": with_sink_in_the_numerator,
    "no sink": rewritten(sink_attention, "sink[:, None, None] +", "sink[:, None, None] - 1e30 +"),
    "sink of the first head for all": rewritten(sink_attention, "sink[:, None, None] +", "sink[:1, None, None] +"),
    "sinks of the key heads tiled": rewritten(sink_attention, "sink[:, None, None] +", "sink[::-1, None, None] +"),
    "sink scaled like the products": rewritten(
        sink_attention, "sink[:, None, None] +", "sink[:, None, None] * d_head**-0.5 +"
    ),
    "sink masked like the last key": rewritten(
        sink_attention,
        _beside_sink=rewritten(
            sinks._beside_sink, "xp.ones((*of_keys.shape[:-1], 1), dtype=xp.bool_)", "of_keys[..., -1:]"
        ),
    ),
    "gradient of the sink of the first query only": rewritten(sink_attention, sum_to=first_only),
    "gradient of the sink without its sign": rewritten(
        sink_attention,
        "xp.reshape(sum_to(dbiases[..., n_key:], (n_head, 1, 1)), (n_head,))",
        "-xp.reshape(sum_to(dbiases[..., n_key:], (n_head, 1, 1)), (n_head,))",
    ),
}

CASES = [
    Case(
        name="sink_attention",
        section="attention",
        title="Attention with learned sinks",
        reference=sink_attention,
        inputs=inputs,
        configs=(
            Config("padding", {**SIZES, "n_head": 4, "n_kv_head": 2, "mask": "padding"}),
            Config("bias", {**SIZES, "n_head": 3, "n_kv_head": 1, "bias": (3, 4, 5)}, {"scale": 0.4}),
            Config("empty_rows", {**SIZES, "n_head": 2, "n_kv_head": 2, "mask": "empty rows"}),
            Config(
                "streaming",
                {**SIZES, "n_head": 6, "n_kv_head": 3, "n_key": 9, "streaming": {"window": 3, "n_sink": 2}},
                profile="full",
            ),
            Config(
                "wide",
                {
                    "n_batch": 1, "n_head": 8, "n_kv_head": 2, "n_query": 256, "n_key": 256, "d_head": 64,
                    "d_value": 64, "streaming": {"window": 64, "n_sink": 4},
                },
                measured=True,
            ),
        ),
        peers={"torch": torch_sinks, "transformers": gpt_oss},
        bugs=BUGS,
    )
]  # fmt: skip
