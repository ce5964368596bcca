"""Mixtures of experts, and how to draw their arguments."""

from refimpl.blocks.mixture.dispatch import combine, dispatch
from refimpl.blocks.mixture.expert_choice import expert_choice
from refimpl.blocks.mixture.expert_linear import expert_linear
from refimpl.blocks.mixture.layer import mixture_of_experts
from refimpl.blocks.mixture.losses import load_balance_loss, router_z_loss
from refimpl.blocks.mixture.noisy_logits import noisy_logits
from refimpl.blocks.mixture.routed_experts import routed_experts
from refimpl.blocks.mixture.router import router
from refimpl.blocks.mixture.shared_expert import shared_expert
from tests.properties import draw_mixtures as draw
from tests.properties.component import Component

# Their first axis is that of the experts, which parameters have as well: no batch.
NO_BATCH = 99

COMPONENTS = [
    Component(expert_linear, draw.expert_linear_calls(), ("x", "params"), batch_rank=NO_BATCH),
    Component(noisy_logits, draw.noisy_logits_calls(), ("x", "noise", "params"), curved=False),
    Component(router, draw.router_calls(), ("x", "noise", "params"), curved=False, weight=2),
    Component(dispatch, draw.slot_calls(combined=False), ("x",), curved=False, batch_rank=NO_BATCH),
    Component(combine, draw.slot_calls(combined=True), ("slots", "weights"), curved=False, batch_rank=NO_BATCH),
    Component(routed_experts, draw.routed_experts_calls(), ("x", "weights", "params"), curved=False, weight=3),
    Component(mixture_of_experts, draw.mixture_calls(), ("x", "noise", "params"), curved=False, weight=4),
    Component(expert_choice, draw.expert_choice_calls(), ("x", "params"), curved=False, weight=3),
    Component(shared_expert, draw.shared_expert_calls(), ("x", "params"), weight=2),
    Component(load_balance_loss, draw.router_loss_calls(balanced=True), ("logits",), curved=False),
    Component(router_z_loss, draw.router_loss_calls(balanced=False), ("logits",)),
]
