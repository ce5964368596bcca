"""Cross-attention with several heads, against `torch.nn.MultiheadAttention`."""

from functools import partial

from compare.cases.bug import rewritten, wrong_gradients
from compare.cases.case import Case, Config
from compare.cases.multi_head import inputs, torch_multi_head, wrong_multi_head
from refimpl.attention.multi_head import cross_attention


def torch_cross_attention(x, memory, params, **settings):
    return torch_multi_head(x, memory, memory, params, **settings)


CASES = [
    Case(
        name="cross_attention",
        section="attention",
        title="Multi-head cross-attention",
        reference=cross_attention,
        inputs=partial(inputs, arguments="qk"),
        configs=(
            Config("same_width", {"n_batch": 2, "n_query": 4, "n_key": 7, "d_model": 9, "n_head": 3}, {"n_head": 3}),
            Config(
                "separate",
                {
                    "n_batch": 3,
                    "n_query": 5,
                    "n_key": 4,
                    "d_model": 8,
                    "n_head": 2,
                    "d_key": 6,
                    "d_value": 6,
                    "mask": "random",
                },
                {"n_head": 2},
            ),
            Config(
                "empty_rows",
                {
                    "n_batch": 2,
                    "n_query": 4,
                    "n_key": 6,
                    "d_model": 5,
                    "n_head": 1,
                    "mask": "empty rows",
                    "biased": False,
                },
                {"n_head": 1},
            ),
            Config(
                "wide",
                {"n_batch": 4, "n_query": 64, "n_key": 128, "d_model": 384, "n_head": 12},
                {"n_head": 12},
                measured=True,
            ),
        ),
        peers={"torch": torch_cross_attention},
        bugs={
            "gradient of the values lost": rewritten(cross_attention, "dq, dk + dv", "dq, dk"),
            "queries and keys exchanged": rewritten(
                cross_attention, multi_head_attention=wrong_multi_head("queries and keys exchanged")
            ),
            "gradients exchanged": wrong_gradients(
                cross_attention, lambda gradients: (*gradients[1::-1], gradients[2])
            ),
        },
    ),
]
