"""Attention without positions: a sequence in reverse gives the same, in reverse."""

import torch

from compare.cases.case import Case, Config
from compare.cases.multi_head import inputs, torch_multi_head
from refimpl.attention.mask import causal_mask
from refimpl.attention.multi_head import self_attention
from refimpl.positions.sinusoidal import sinusoidal_positions


def torch_reversed(x, params, *, n_head):
    backwards = torch.flip(x, (1,))
    return torch.flip(torch_multi_head(backwards, backwards, backwards, params, n_head=n_head), (1,))


def _causal(x, params, *, n_head):
    return self_attention(x, params, n_head=n_head, mask=causal_mask(x.shape[1], x.shape[1], like=x))


def _with_positions(x, params, *, n_head):
    return self_attention(sinusoidal_positions(x)[0], params, n_head=n_head)


def _config(name, n_seq, d_model, n_head):
    sizes = {"n_batch": 2, "n_head": n_head, "n_query": n_seq, "n_key": n_seq, "d_model": d_model}
    return Config(name, {"arguments": "q", **sizes}, {"n_head": n_head})


CASES = [
    Case(
        name="no_position",
        section="positions",
        title="No position at all",
        reference=self_attention,
        inputs=inputs,
        configs=(_config("heads2", 5, 8, 2), _config("heads3", 7, 6, 3)),
        peers={"torch": torch_reversed},
        bugs={"a causal mask": _causal, "positions added": _with_positions},
    )
]
