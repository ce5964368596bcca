"""Mixtures of experts against torch, and against Mixtral, Qwen2Moe and Switch of `transformers`."""

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.mixture import choice_inputs, inputs, torch_choice, torch_mixture
from compare.peers.transformers_experts import transformers_mixture
from refimpl.blocks.mixture.dispatch import combine, dispatch, token_slots
from refimpl.blocks.mixture.expert_choice import expert_choice
from refimpl.blocks.mixture.expert_linear import expert_linear
from refimpl.blocks.mixture.layer import mixture_of_experts
from refimpl.blocks.mixture.noisy_logits import noisy_logits
from refimpl.blocks.mixture.routed_experts import routed_experts
from refimpl.blocks.mixture.router import router
from refimpl.blocks.mixture.shared_expert import shared_expert


def wrong_router(old="", new="", **names):
    return rewritten(mixture_of_experts, router=rewritten(router, old, new, **names))


def wrong_logits(old, new):
    return wrong_router(noisy_logits=rewritten(noisy_logits, old, new))


def wrong_experts(old="", new="", **names):
    return rewritten(mixture_of_experts, routed_experts=rewritten(routed_experts, old, new, **names))


def wrong_shared(old, new):
    return rewritten(mixture_of_experts, shared_expert=rewritten(shared_expert, old, new))


BUGS = {
    "one expert too few": rewritten(mixture_of_experts, "largest(logits, n_chosen)", "largest(logits, n_chosen - 1)"),
    "experts in reverse": wrong_experts("token_slots(chosen,", "token_slots(chosen[..., ::-1],"),
    "outputs not weighed": wrong_experts(combine=rewritten(combine, "heard * weight, n_token", "heard, n_token")),
    "softmax over the others": wrong_router('softmax_over == "chosen"', 'softmax_over != "chosen"'),
    "router not trained": rewritten(mixture_of_experts, "_pullback((dweights,", "_pullback((0.0 * dweights,"),
    "gradient by way of the router lost": rewritten(mixture_of_experts, "(dx_fed, dx_routed, dx", "(dx_fed, None, dx"),
    "gradient of the logits lost": wrong_router("add_gradients(dlogits, dlogits_here)", "dlogits"),
    "gradient of the weight of the experts left out": wrong_experts(
        combine=rewritten(combine, "dheard * weight, slots.shape", "dheard, slots.shape")
    ),
    "gradient of one expert for a token": wrong_experts(
        dispatch=rewritten(dispatch, "(rows, xp.reshape(dy", "(rows, 0.5 * xp.reshape(dy")
    ),
}
CAPACITY_BUGS = {
    "capacity ignored": wrong_experts("capacity=capacity", "capacity=None"),
    "the last come first": wrong_experts(
        token_slots=rewritten(token_slots, "xp.where(by_expert, places,", "xp.where(by_expert, -places,")
    ),
}
NOISE_BUGS = {
    "noise ignored": rewritten(mixture_of_experts, "router(x, noise,", "router(x, 0.0 * noise,"),
    "size of the noise ignored": wrong_logits("else noise * scale", "else noise"),
    "gradient of the size without its slope": wrong_logits("dy * noise * slope", "dy * noise"),
}
SHARED_BUGS = {
    "shared expert always open": wrong_shared("y = opened * fed", "y = 1.0 * fed"),
    "gradient of the opening lost": wrong_shared("dx + dx_wish", "dx"),
    "gradient of the shared expert not opened": wrong_shared("network_pullback(opened * dy)", "network_pullback(dy)"),
}
SIZES = {"n_batch": 2, "n_seq": 5, "d_model": 4, "n_expert": 3, "d_ff": 6}
SWITCH = {"n_chosen": 1, "softmax_over": "all", "activation": "relu", "gated": False}

CASES = [
    Case(
        name="mixture_of_experts",
        section="blocks",
        title="Mixture of experts",
        reference=mixture_of_experts,
        inputs=inputs,
        outputs=("y", "logits"),
        configs=(
            Config("noisy", {**SIZES, "noise": True, "noisy": True, "d_shared": 2}, {"n_chosen": 2}),
            Config("crowded", {**SIZES, "n_seq": 7, "biased": True, "gated": False}, {**SWITCH, "capacity": 2}),
            Config("noise_as_it_is", {**SIZES, "noise": True}, {"n_chosen": 2, "softmax_over": "all"}, profile="full"),
            Config("all", {**SIZES, "d_shared": 3, "opened": False}, {"n_chosen": 3}, profile="full"),
            Config("none", {**SIZES}, {"n_chosen": 2, "capacity": 0}, profile="full"),
        ),
        peers={"torch": torch_mixture},
        dtypes=("float64", "float32"),
        bugs={
            **BUGS,
            **CAPACITY_BUGS,
            **{name: bug for name, bug in NOISE_BUGS.items() if name != "noise ignored"},
            **SHARED_BUGS,
        },
    ),
    Case(
        name="mixtures_of_models",
        section="blocks",
        title="Mixtures of experts of Mixtral, Qwen2Moe and Switch",
        reference=mixture_of_experts,
        inputs=inputs,
        outputs=("y", "logits"),
        configs=(
            Config("mixtral", {**SIZES, "n_expert": 5}, {"n_chosen": 2}),
            Config(
                "qwen2_moe", {**SIZES, "d_shared": 3}, {"n_chosen": 2, "softmax_over": "all", "activation": "gelu"}
            ),
            Config("switch", {**SIZES, "n_seq": 8, "gated": False}, {**SWITCH, "capacity": 2}),
            Config("qwen2_moe_renormalised", {**SIZES, "d_shared": 3}, {"n_chosen": 2}, profile="full"),
            Config("switch_roomy", {**SIZES, "gated": False}, {**SWITCH, "capacity": 64}, profile="full"),
        ),
        peers={"transformers": transformers_mixture},
        dtypes=("float64", "float32"),
        bugs={**BUGS, **CAPACITY_BUGS, **SHARED_BUGS},
    ),
    Case(
        name="expert_choice",
        section="blocks",
        title="Experts that choose their tokens",
        reference=expert_choice,
        inputs=choice_inputs,
        outputs=("y", "logits"),
        configs=(
            Config("gated", {**SIZES, "n_seq": 7, "biased": True}, {"capacity": 3}),
            Config("plain", {**SIZES, "gated": False}, {"capacity": 2, "activation": "relu", "gated": False}),
            Config("whole", {**SIZES}, {"capacity": 5}, profile="full"),
        ),
        peers={"torch": torch_choice},
        dtypes=("float64", "float32"),
        bugs={
            "tokens choose": rewritten(
                expert_choice, "largest(xp.swapaxes(weights, 1, 2), capacity)", "xp.swapaxes(largest(weights, 2), 1, 2)"
            ),
            "softmax over tokens": rewritten(expert_choice, "softmax(logits)", "softmax(logits, axis=1)"),
            "one token too few": rewritten(expert_choice, "1, 2), capacity)", "1, 2), capacity - 1)"),
            "gradient by way of the router lost": rewritten(expert_choice, "dx_fed + dx_routed", "dx_fed"),
            "gradient of the logits lost": rewritten(expert_choice, "add_gradients(dlogits, dlogits_here)", "dlogits"),
            "gradient of the biases of the experts averaged": rewritten(
                expert_choice,
                routed_experts=rewritten(
                    routed_experts, expert_linear=rewritten(expert_linear, "xp.sum(dy, axis=1)", "xp.mean(dy, axis=1)")
                ),
            ),
        },
    ),
]
