"""Attention with its weights and log-sum-exp, against softmax and log-sum-exp of PyTorch."""

import torch

from compare.cases.attention import inputs
from compare.cases.attention_weights import first_only, torch_scores, torch_weights
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from refimpl.attention.with_weights import attention_with_weights
from refimpl.layers.softmax import softmax


def torch_with_weights(q, k, v, bias=None, **settings):
    scores, weights = (function(q, k, bias, **settings) for function in (torch_scores, torch_weights))
    # Of minus infinities alone, PyTorch's gradient is NaN: there the logarithm of nothing is added afterwards.
    empty = (scores == -torch.inf).all(-1)
    lse = torch.logsumexp(scores.masked_fill(empty[..., None], 0.0), -1).masked_fill(empty, -torch.inf)
    return weights @ v, weights, lse


BUGS = {
    "scale by d": rewritten(attention_with_weights, "1.0 / math.sqrt(q.shape[-1])", "1.0 / q.shape[-1]"),
    "log-sum-exp of the scores before the bias": rewritten(
        attention_with_weights, "logsumexp(scores)", "logsumexp(capped)"
    ),
    "log-sum-exp to the base 2": rewritten(
        attention_with_weights, "weights, lse)\n", "weights, lse * 1.4426950408889634)\n"
    ),
    "softcap after the mask": rewritten(
        attention_with_weights,
        "softmax(biased, mask=mask)",
        "softmax(biased, mask=mask) if softcap is None or mask is None else softmax(xp.where(mask, biased, -softcap))",
    ),
    "log-sum-exp of masked keys too": rewritten(attention_with_weights, "logsumexp(scores)", "logsumexp(biased)"),
    "gradient of the log-sum-exp lost": rewritten(attention_with_weights, " + weights * dlse[..., None]", ""),
    "gradient of the weights lost": rewritten(attention_with_weights, "dweights + xp.matmul", "xp.matmul"),
    "gradient without its row-sum term": rewritten(
        attention_with_weights, softmax=rewritten(softmax, "(dy - along_weights)", "dy")
    ),
    "gradient of the softcap forgotten": rewritten(attention_with_weights, "dscores * (1.0 - bent * bent)", "dscores"),
    "gradient of the bias not summed": rewritten(attention_with_weights, sum_to=first_only),
}

CASES = [
    Case(
        name="attention_with_weights",
        section="attention",
        title="Attention with its weights and log-sum-exp",
        reference=attention_with_weights,
        inputs=inputs,
        outputs=("y", "weights", "log_sum_exp"),
        configs=(
            Config("bias", {"lead": (2, 3), "n_query": 4, "n_key": 6, "d_head": 5, "d_value": 2, "bias": (3, 1, 6)}),
            Config(
                "softcap",
                {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 3, "d_value": 4, "scale": 2.0, "mask": "empty rows"},
                {"softcap": 2.0},
            ),
            Config(
                "sharp",
                {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 16, "d_value": 3, "scale": 4.0},
                {"scale": 0.3},
                profile="full",
            ),
            Config("wide", {"lead": (4,), "n_query": 256, "n_key": 256, "d_head": 64, "d_value": 64}, measured=True),
        ),
        peers={"torch": torch_with_weights},
        bugs=BUGS,
    )
]
