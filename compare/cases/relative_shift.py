"""Transformer-XL's shift, against elements taken one by one from where their distance stands."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.relative.shift import relative_shift


def shift_inputs(generator, *, lead, n_query, n_key):
    return Inputs((normal(generator, *lead, n_query, n_key),))


def torch_shift(x):
    """Take every element from where its distance stands."""
    n_query, n_key = x.shape[-2:]
    after = (n_query - 1 - torch.arange(n_query))[:, None] + torch.arange(n_key)[None, :]
    rows = torch.arange(n_query)[:, None].expand(n_query, n_key)
    return torch.where(after < n_key, x[..., rows, after.clamp(max=max(n_key - 1, 0))], 0.0) if n_key else x * 1.0


SHIFT_BUGS = {
    "shift by one": rewritten(relative_shift, "[(1, 0)], mode", "[(0, 1)], mode"),
    "junk left after the diagonal": rewritten(
        relative_shift, "xp.tril(xp.reshape(rows, (*lead, n_query, n_key)), k=n_before)",
        "xp.reshape(rows, (*lead, n_query, n_key))",
    ),
    "no shift": rewritten(relative_shift, "xp.reshape(rows, (*lead, n_query, n_key))", "x"),
    "diagonal of the square": rewritten(relative_shift, "n_key - n_query", "0"),
    "gradient shifted forwards": rewritten(
        relative_shift, "[(1, 0), (0, 0)]", "[(0, 1), (0, 0)]"
    ),
}  # fmt: skip

CASES = [
    Case(
        name="relative_shift",
        section="positions",
        title="Relative shift of Transformer-XL",
        reference=relative_shift,
        inputs=shift_inputs,
        configs=(
            Config("square", {"lead": (2,), "n_query": 5, "n_key": 5}),
            Config("memory", {"lead": (2, 3), "n_query": 4, "n_key": 7}),
            Config("long_memory", {"lead": (), "n_query": 2, "n_key": 9}),
            Config("more_queries", {"lead": (2,), "n_query": 6, "n_key": 3}),
            Config("one_query", {"lead": (3,), "n_query": 1, "n_key": 6}),
            Config("wide", {"lead": (4,), "n_query": 256, "n_key": 512}, profile="full"),
        ),
        peers={"torch": torch_shift},
        bugs=SHIFT_BUGS,
    ),
]
