"""Sinusoidal positions against their formula in PyTorch, and against the tables of DistilBERT and Marian."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.positions.sinusoidal import sinusoidal_positions


def inputs(generator, *, shape, n_position=None):
    x = normal(generator, *shape)
    if n_position is None:
        return Inputs((x,))
    return Inputs((x,), {"positions": generator.integers(0, n_position, shape[:-1])})


def torch_sinusoidal(x, *, positions=None, offset=0, base=10000.0, layout="interleaved"):
    d_model = x.shape[-1]
    ids = torch.arange(offset, offset + x.shape[-2]) if positions is None else positions
    # In float64, feature by feature: feature 2 i is sin(p / base^(2 i / d)).
    features = torch.arange(d_model, dtype=torch.float64)
    angles = ids[..., None] / base ** ((features - features % 2) / d_model)
    table = torch.where(features % 2 == 0, angles.sin(), angles.cos())
    if layout == "concatenated":
        table = torch.cat([table[..., 0::2], table[..., 1::2]], -1)
    return x + table.to(x.dtype)


def table_of_models(x, *, offset=0, layout="interleaved"):
    from transformers.models.distilbert import modeling_distilbert  # takes seconds to import
    from transformers.models.marian import modeling_marian

    n_position, d_model = offset + x.shape[-2], x.shape[-1]
    if layout == "concatenated":
        table = modeling_marian.MarianSinusoidalPositionalEmbedding(n_position, d_model).create_weight()
    else:
        table = torch.empty(n_position, d_model)
        modeling_distilbert.create_sinusoidal_embeddings(n_position, d_model, table)
    return x + table[offset:].to(x.dtype)


CONCATENATED = {"layout": "concatenated"}
BUGS = {
    "exponent doubled": rewritten(sinusoidal_positions, "-2.0 * i / d_model", "-4.0 * i / d_model"),
    "exponent not doubled": rewritten(sinusoidal_positions, "-2.0 * i / d_model", "-1.0 * i / d_model"),
    "sines and cosines swapped": rewritten(
        sinusoidal_positions, "xp.sin(angles), xp.cos(angles)", "xp.cos(angles), xp.sin(angles)"
    ),
    "the other layout": rewritten(sinusoidal_positions, 'if layout == "interleaved":', 'if layout != "interleaved":'),
    "offset lost": rewritten(
        sinusoidal_positions, "position_ids(x, positions, offset)", "position_ids(x, positions, 0)"
    ),
}

CASES = [
    Case(
        name="sinusoidal_positions",
        section="positions",
        title="Sinusoidal positions",
        reference=sinusoidal_positions,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 8)}),
            Config("odd", {"shape": (3, 6, 7)}, {"offset": 9}),
            Config("concatenated", {"shape": (2, 5, 9)}, CONCATENATED),
            Config("given", {"shape": (3, 4, 6), "n_position": 600}, {"base": 500.0}),
            Config("far", {"shape": (2, 5, 33)}, {"offset": 100_000, **CONCATENATED}, profile="full"),
            Config("one_feature", {"shape": (2, 700, 1)}, profile="full"),
            Config("wide", {"shape": (8, 512, 384)}, measured=True),
        ),
        peers={"torch": torch_sinusoidal},
        bugs={
            **BUGS,
            "base ignored": rewritten(sinusoidal_positions, "math.pow(base,", "math.pow(10000.0,"),
            "positions in bfloat16": rewritten(
                sinusoidal_positions,
                "d_model, dtype =",
                "ids = xp.where(ids > 256, ids // 2 * 2, ids); d_model, dtype =",
            ),
        },
    ),
    Case(
        name="sinusoidal_of_models",
        section="positions",
        title="Sinusoidal positions of DistilBERT and Marian",
        reference=sinusoidal_positions,
        inputs=inputs,
        configs=(
            Config("distilbert", {"shape": (2, 5, 8)}, {"offset": 40}),
            Config("marian", {"shape": (2, 5, 9)}, CONCATENATED),
        ),
        peers={"transformers": table_of_models},
        bugs=BUGS,
        # Their tables are float32 whatever comes in.
        dtypes=("float32", "float16", "bfloat16"),
    ),
]
