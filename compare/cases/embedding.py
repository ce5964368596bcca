"""Embedding against `torch.nn.functional.embedding`."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.layers.embedding import embedding


def inputs(generator, *, shape, n_row, d_model):
    # Far fewer rows than ids, so that ids repeat and their gradients must add up.
    return Inputs((generator.integers(0, n_row, shape), {"weight": normal(generator, n_row, d_model)}))


def torch_embedding(ids, params, *, padding_id=None):
    return torch.nn.functional.embedding(ids, params["weight"], padding_id)


def _only_last(ids, values, n):
    """Keep the last row of every id, as an assignment would."""
    table = values[:1].repeat(n, axis=0) * 0
    table[ids] = values
    return table


CASES = [
    Case(
        name="embedding",
        section="layers",
        title="Embedding",
        reference=embedding,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (3, 7), "n_row": 5, "d_model": 8}),
            Config("rank1", {"shape": (40,), "n_row": 6, "d_model": 3}),
            Config("rank3", {"shape": (2, 3, 5), "n_row": 11, "d_model": 4}),
            Config("padding", {"shape": (4, 9), "n_row": 5, "d_model": 6}, {"padding_id": 2}, oracles=False),
            Config("wide", {"shape": (16, 256), "n_row": 8192, "d_model": 384}, measured=True),
        ),
        peers={"torch": torch_embedding},
        # PyTorch 2.13 on the CPU adds up the gradient of a row in the dtype of the table.
        sums_in_storage=("torch",),
        bugs={
            "repeated ids overwrite": rewritten(embedding, scatter_add=_only_last),
            "next row": rewritten(embedding, "weight[flat_ids]", "weight[(flat_ids + 1) % n_row]"),
            "padding row trained": rewritten(embedding, "if padding_id is None:", "if True:"),
        },
    )
]
