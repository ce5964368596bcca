"""Learned positions, against `torch.nn.functional.embedding`."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.positions.learned import learned_positions


def inputs(generator, *, lead, n_seq, n_position, d_model):
    return Inputs((normal(generator, *lead, n_seq, d_model), {"weight": normal(generator, n_position, d_model)}))


def torch_positions(x, params, *, offset=0):
    positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
    return x + torch.nn.functional.embedding(positions, params["weight"])


CASES = [
    Case(
        name="learned_positions",
        section="positions",
        title="Learned positions",
        reference=learned_positions,
        inputs=inputs,
        configs=(
            Config("rank2", {"lead": (), "n_seq": 5, "n_position": 9, "d_model": 6}),
            Config("rank3", {"lead": (3,), "n_seq": 4, "n_position": 11, "d_model": 7}, {"offset": 6}),
            Config("rank4", {"lead": (2, 3), "n_seq": 4, "n_position": 4, "d_model": 5}),
            Config("one_step", {"lead": (5,), "n_seq": 1, "n_position": 8, "d_model": 3}, {"offset": 7}),
            Config("wide", {"lead": (16,), "n_seq": 256, "n_position": 512, "d_model": 384}, measured=True),
        ),
        peers={"torch": torch_positions},
        bugs={
            "offset lost": rewritten(learned_positions, "weight[offset:end]", "weight[:n_seq]"),
            "offset lost in the backward": rewritten(
                learned_positions, "(offset, n_position - end)", "(0, n_position - n_seq)"
            ),
            "off by one": rewritten(
                learned_positions, "weight[offset:end]", "weight[xp.arange(offset + 1, end + 1) % n_position]"
            ),
            "gradient from one sequence only": rewritten(
                learned_positions, "xp.sum(dy, axis=batch_axes)", "dy[(0,) * (dy.ndim - 2)]"
            ),
        },
    )
]
