"""Linear attention as a recurrent network, against running sums."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.linear_attention import SEQUENCE, TORCH_MAPS, WIDE, feature_bugs, inputs
from refimpl.attention.linear import recurrent
from refimpl.attention.linear.attention import elu_plus_one
from refimpl.attention.linear.recurrent import recurrent_linear_attention
from refimpl.layers.softmax import softmax


def torch_sums(q, k, v, memory=None, normaliser=None, *, feature_map=elu_plus_one):
    """Make the states of all positions at once, as running sums of outer products."""
    of_q, of_k = (TORCH_MAPS[feature_map](x) for x in (q, k))
    memories = torch.cumsum(of_k[..., :, None] * v[..., None, :], -3)  # (..., n_seq, d_feature, d_value)
    normalisers = torch.cumsum(of_k, -2)
    if memory is not None:
        memories, normalisers = memories + memory[..., None, :, :], normalisers + normaliser[..., None, :]
    y = torch.einsum("...f,...fd->...d", of_q, memories) / (of_q * normalisers).sum(-1, keepdim=True)
    return y, memories[..., -1, :, :], normalisers[..., -1, :]


def _recurrent(part, old, new):
    return rewritten(recurrent_linear_attention, **{part: rewritten(getattr(recurrent, part), old, new)})


RECURRENT_BUGS = {
    **feature_bugs(recurrent_linear_attention),
    "memory not accumulated": _recurrent("_accumulated", "memory_before + xp", "0.0 * memory_before + xp"),
    "normaliser not accumulated": _recurrent("_accumulated", "normaliser_before + f", "0.0 * normaliser_before + f"),
    "read before it is written": _recurrent("_read", "states[1:]", "states[:-1]"),
    "state of the past ignored": _recurrent("_start", "return memory, norm", "return 0.0 * memory, 0.0 + norm"),
    "gradient of later positions lost": _recurrent("_back", "dmemory = dmemory + xp", "dmemory = xp"),
    "gradient of the final state lost": rewritten(
        recurrent_linear_attention,
        "dstate = (dmemory, dnormaliser[..., None, :])",
        "dstate = (0.0 * dmemory, 0.0 * dnormaliser[..., None, :])",
    ),
    "gradient read before its own position": _recurrent("_back", "states[t + 1], slice", "states[t], slice"),
}
CASES = [
    Case(
        name="recurrent_linear_attention",
        section="attention",
        title="Linear attention as a recurrent network",
        reference=recurrent_linear_attention,
        inputs=inputs,
        outputs=("y", "memory", "normaliser"),
        configs=(
            Config("from_a_state", {**SEQUENCE, "state": True}),
            Config("from_nothing", SEQUENCE, {"feature_map": softmax}),
            Config("one", {**SEQUENCE, "n_query": 1, "n_key": 1, "state": True}, profile="full"),
            Config("wide", {**WIDE, "n_query": 64, "n_key": 64}, measured=True),
        ),
        peers={"torch": torch_sums},
        bugs=RECURRENT_BUGS,
    ),
]
