"""Rotary positions against complex multiplication in PyTorch, and against Llama, GPT-NeoX and RoFormer."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from compare.peers.transformers_rotary import llama_rotary, neox_rotary, roformer_rotary
from refimpl.positions.rotary import rotary
from refimpl.positions.rotary_scaling import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    NtkScaling,
    YarnScaling,
)
from refimpl.positions.token_positions import token_positions


def inputs(generator, *, shape, padded=False):
    x = normal(generator, *shape)
    if not padded:
        return Inputs((x,))
    n_batch, n_seq = shape[0], shape[-2]
    n_padding = generator.integers(0, n_seq, (n_batch, 1))
    positions = token_positions(generator.permutation(n_seq)[None] >= n_padding)
    return Inputs((x,), {"positions": positions.reshape(n_batch, *[1] * (len(shape) - 3), n_seq)})


def torch_rotary(x, *, positions=None, offset=0, d_rotary=None, base=10000.0, layout="half"):
    wide = torch.promote_types(x.dtype, torch.float32)
    d = d_rotary or x.shape[-1]
    ids = torch.arange(offset, offset + x.shape[-2]) if positions is None else positions
    angles = ids[..., None].to(wide) / base ** (torch.arange(0, d, 2, dtype=wide) / d)
    turned, rest = x[..., :d].to(wide), x[..., d:]
    axis = -1 if layout == "interleaved" else -2
    pairs = turned.unflatten(-1, (-1, 2) if layout == "interleaved" else (2, -1))
    points = torch.complex(*pairs.unbind(axis)) * torch.polar(torch.ones_like(angles), angles)
    y = torch.stack([points.real, points.imag], axis).flatten(-2)
    return torch.cat([y.to(x.dtype), rest], -1)


def of_transformers(x, *, layout="half", d_rotary=None, **settings):
    if layout == "interleaved":
        return roformer_rotary(x, **settings)
    return llama_rotary(x, **settings) if d_rotary is None else neox_rotary(x, d_rotary=d_rotary, **settings)


BUGS = {
    "pairs of the other layout": rewritten(
        rotary, "y = _turn(x, cos, sin, n_rotary, layout)", 'y = _turn(x, cos, sin, n_rotary, "half")'
    ),
    "turned backwards": rewritten(rotary, "cast(xp.sin(angles) * factor", "cast(-xp.sin(angles) * factor"),
    "gradient turned forwards": rewritten(rotary, "cos, -sin", "cos, sin"),
    "offset lost while decoding": rewritten(
        rotary, "position_ids(x, positions, offset)", "position_ids(x, positions, 0)"
    ),
    "positions in bfloat16": rewritten(
        rotary, "frequencies, factor =", "ids = xp.where(ids > 256, ids // 2 * 2, ids); frequencies, factor ="
    ),
    "padding counted": rewritten(rotary, "position_ids(x, positions, offset)", "position_ids(x, None, offset)"),
    "frequencies of the whole head": rewritten(
        rotary, "* xp.asarray(frequencies, dtype=dtype)",
        "* xp.asarray([base ** (-2.0 * i / x.shape[-1]) for i in range(n_rotary // 2)], dtype=dtype)",
    ),
    "base ignored": rewritten(rotary, "(n_rotary, base, n_position)", "(n_rotary, 10000.0, n_position)"),
}
SCALED_BUGS = {
    "scaling ignored": rewritten(rotary, "(scaling or Unscaled())", "Unscaled()"),
    "factor on cosines only": rewritten(rotary, "xp.sin(angles) * factor", "xp.sin(angles)"),
    "length without the past": rewritten(rotary, "n_position = offset + x.shape[-2]", "n_position = x.shape[-2]"),
}
INTERLEAVED = {"layout": "interleaved"}
FAR = {
    "linear": LinearScaling(8.0),
    "ntk": NtkScaling(8.0),
    "dynamic": DynamicNtkScaling(8.0, 4096),
    "yarn": YarnScaling(8.0, 4096),
    "llama3": Llama3Scaling(8.0, 8192),
}

CASES = [
    Case(
        name="rotary",
        section="positions",
        title="Rotary positions",
        reference=rotary,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 8)}),
            Config("rank4", {"shape": (2, 3, 7, 6)}, INTERLEAVED),
            Config("decoding", {"shape": (3, 4, 10)}, {"offset": 255, "d_rotary": 6}),
            Config("padded", {"shape": (4, 3, 6, 8), "padded": True}, {"base": 500.0}),
            Config("far", {"shape": (2, 3, 4, 64)}, {"offset": 100_000, "base": 5e5}, profile="full"),
            Config("long", {"shape": (2, 700, 32)}, {"d_rotary": 10, **INTERLEAVED}, profile="full"),
            Config("one_pair", {"shape": (3, 1, 2)}, {"offset": 3}, profile="full"),
            Config("wide", {"shape": (2, 12, 512, 64)}, measured=True),
        ),
        peers={"torch": torch_rotary},
        bugs=BUGS,
    ),
    Case(
        name="rotary_of_models",
        section="positions",
        title="Rotary positions of Llama, GPT-NeoX and RoFormer, with every scaling",
        reference=rotary,
        inputs=inputs,
        configs=(
            Config("llama", {"shape": (3, 2, 6, 8), "padded": True}),
            Config("neox", {"shape": (2, 3, 5, 16)}, {"offset": 300, "d_rotary": 4}),
            Config("roformer", {"shape": (2, 3, 5, 12)}, {"offset": 7, **INTERLEAVED}),
            Config("linear", {"shape": (2, 3, 6, 8)}, {"offset": 90, "scaling": LinearScaling(4.0)}),
            Config("ntk", {"shape": (2, 3, 6, 8)}, {"offset": 90, "scaling": NtkScaling(4.0)}),
            Config("dynamic", {"shape": (2, 3, 6, 8)}, {"offset": 90, "scaling": DynamicNtkScaling(2.0, 32)}),
            Config("yarn", {"shape": (2, 3, 6, 16)}, {"offset": 90, "scaling": YarnScaling(4.0, 64, 8.0)}),
            Config("llama3", {"shape": (2, 3, 6, 16)}, {"offset": 90, "scaling": Llama3Scaling(8.0, 64)}),
            *(
                Config(f"far_{name}", {"shape": (1, 2, 5, 128)}, {"offset": 30_000, "scaling": rule}, profile="full")
                for name, rule in FAR.items()
            ),
        ),
        peers={"transformers": of_transformers},
        bugs={**SCALED_BUGS, "turned backwards": BUGS["turned backwards"]},
        # Their angles are float32 whatever comes in.
        dtypes=("float32", "float16", "bfloat16"),
    ),
]
