"""Self-attention with several heads, against `torch.nn.MultiheadAttention`."""

from functools import partial

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.multi_head import MULTI_HEAD_BUGS, inputs, torch_multi_head, wrong_multi_head
from refimpl.attention.multi_head import self_attention


def torch_self_attention(x, params, **settings):
    return torch_multi_head(x, x, x, params, **settings)


CASES = [
    Case(
        name="self_attention",
        section="attention",
        title="Multi-head self-attention",
        reference=self_attention,
        inputs=partial(inputs, arguments="q"),
        configs=(
            Config(
                "causal",
                {"n_batch": 2, "n_query": 5, "n_key": 5, "d_model": 12, "n_head": 4, "mask": "causal"},
                {"n_head": 4},
            ),
            Config(
                "padding",
                {"n_batch": 4, "n_query": 6, "n_key": 6, "d_model": 10, "n_head": 2, "mask": "padding"},
                {"n_head": 2},
            ),
            Config(
                "empty_rows",
                {"n_batch": 2, "n_query": 5, "n_key": 5, "d_model": 6, "n_head": 3, "mask": "empty rows"},
                {"n_head": 3},
            ),
            Config(
                "size_one_heads", {"n_batch": 3, "n_query": 4, "n_key": 4, "d_model": 5, "n_head": 5}, {"n_head": 5}
            ),
            Config(
                "sharp",
                {"n_batch": 2, "n_query": 4, "n_key": 4, "d_model": 6, "n_head": 1, "scale": 4.0},
                {"n_head": 1},
            ),
            Config(
                "wide",
                {"n_batch": 2, "n_query": 128, "n_key": 128, "d_model": 384, "n_head": 12},
                {"n_head": 12},
                measured=True,
            ),
        ),
        peers={"torch": torch_self_attention},
        bugs={
            **{
                name: rewritten(self_attention, multi_head_attention=wrong_multi_head(name))
                for name in MULTI_HEAD_BUGS
                if "dropout" not in name
            },
            "gradient of the keys lost": rewritten(self_attention, "dq + dk + dv", "dq + dv"),
        },
    ),
]
