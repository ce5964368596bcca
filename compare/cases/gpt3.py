"""GPT-3, dense and banded layers in turn, against a definition with dense masks in PyTorch."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.gpt import inputs_of
from compare.cases.sparse import ALTERNATING_BUGS
from refimpl.models.gpt import model
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.model import gpt

GPT3 = GptConfig(vocab_size=11, n_position=10, d_model=8, n_head=2, n_layer=3, d_ff=9, window=3)
LONG = GptConfig(vocab_size=300, n_position=256, d_model=32, n_head=2, n_layer=3, d_ff=64, window=32)


def torch_gpt3(token_ids, params, *, config, mask=None):
    """Write it down: pre-norm blocks, of which every second one sees only a band."""
    is_token = torch.ones_like(token_ids, dtype=torch.bool) if mask is None else mask
    positions = (is_token.long().cumsum(-1) - 1).clamp(min=0)
    x = params["token.weight"][token_ids] + params["position.weight"][positions]
    states = [x]
    for i in range(config.n_layer):
        x = torch_block(x, _below(params, f"layers.{i}."), i, is_token, config)
        states.append(x)
    return (*states[:-1], _normed(x, params, "norm."))


def torch_block(x, params, layer, is_token, config):
    n_batch, n_seq, _ = x.shape
    distance = torch.arange(n_seq)[:, None] - torch.arange(n_seq)
    reach = n_seq if layer % 2 == 0 else config.window
    seen = (distance >= 0) & (distance < reach) & is_token[:, None, None]  # (n_batch, 1, n_seq, n_seq)
    heads = _mapped(_normed(x, params, "norm1."), params, "self_attn.in_proj_")
    q, k, v = heads.view(n_batch, n_seq, 3, config.n_head, -1).permute(2, 0, 3, 1, 4)
    scores = torch.exp(q @ k.mT / k.shape[-1] ** 0.5) * seen
    weights = scores / (scores.sum(-1, keepdim=True) + ~seen.any(-1, keepdim=True))  # 0 where nothing is seen
    mid = x + _mapped((weights @ v).transpose(1, 2).reshape(x.shape), params, "self_attn.out_proj.")
    wide = _mapped(_normed(mid, params, "norm2."), params, "linear1.")
    return mid + _mapped(torch.nn.functional.gelu(wide, approximate="tanh"), params, "linear2.")


def _below(params, prefix):
    return {key.removeprefix(prefix): value for key, value in params.items() if key.startswith(prefix)}


def _mapped(x, params, prefix):
    return torch.nn.functional.linear(x, params[f"{prefix}weight"], params[f"{prefix}bias"])


def _normed(x, params, prefix):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], params[f"{prefix}weight"], params[f"{prefix}bias"], 1e-5)


CASES = [
    Case(
        name="gpt3",
        section="models",
        title="GPT-3",
        reference=gpt,
        inputs=inputs_of("backbone"),
        outputs=tuple(f"state{i}" for i in range(GPT3.n_layer + 1)),
        configs=(
            Config("whole", {"config": GPT3, "n_batch": 2, "n_seq": 8}, {"config": GPT3}),
            Config("padded_left", {"config": GPT3, "n_batch": 3, "n_seq": 7, "padded": "left"}, {"config": GPT3}),
            Config(
                "padded_right", {"config": GPT3, "n_batch": 3, "n_seq": 6, "padded": "right"}, {"config": GPT3},
                profile="full",
            ),
            Config("long", {"config": LONG, "n_batch": 1, "n_seq": 256}, {"config": LONG}, profile="full"),
        ),
        peers={"torch": torch_gpt3},
        dtypes=("float64", "float32"),
        bugs={
            **{
                name: rewritten(gpt, _blocks=rewritten(model._blocks, alternating_attention=bug))
                for name, bug in ALTERNATING_BUGS.items()
            },
            "every layer is the first": rewritten(gpt, _blocks=rewritten(model._blocks, "layer=i", "layer=0")),
            "padding attended": rewritten(
                gpt, _blocks=rewritten(model._blocks, "attend in attends], is_token", "attend in attends], None")
            ),
            "positions of padding counted": rewritten(
                gpt, "text_positions(token_ids, mask=mask)", "text_positions(token_ids)"
            ),
        },
    )
]  # fmt: skip
