"""How to draw calls of mixtures of experts.

Rounding must not change who is chosen: the router's bias, or the first feature of every token, keeps candidates far
apart.
"""

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from compare.cases.mixture import shapes
from tests.properties.component import Call
from tests.properties.draw_layers import SEEDS

SMOOTH = st.sampled_from(["silu", "gelu", "gelu_tanh"])


@st.composite
def expert_linear_calls(draw):
    n_expert, n_row, d_in, d_out = draw(strategies.sizes(4, max_side=4))
    generator = draw(strategies.generators())
    params = {"weight": generator.standard_normal((n_expert, d_out, d_in))}
    if draw(st.booleans()):
        params["bias"] = generator.standard_normal((n_expert, d_out))
    return Call({"x": draw(strategies.floating((n_expert, n_row, d_in)))}, params, {}, draw(SEEDS))


def _routed(draw):
    """Tokens, noise, and a router whose bias says most of who is chosen."""
    n_batch, n_seq, d_model = draw(strategies.sizes(3, max_side=4))
    n_expert = draw(st.integers(2, 4))
    generator = draw(strategies.generators())
    x = generator.standard_normal((n_batch, n_seq, d_model))
    noise = 0.02 * generator.standard_normal((n_batch, n_seq, n_expert))
    params = {"weight": 0.02 * generator.standard_normal((n_expert, d_model)), "bias": _apart(generator, n_expert)}
    if draw(st.booleans()):
        params["noise.weight"] = generator.standard_normal((n_expert, d_model)) / d_model
    n_chosen = draw(st.integers(1, n_expert))
    softmax_over = "all" if n_chosen == 1 else draw(st.sampled_from(["all", "chosen"]))
    settings = {"n_chosen": n_chosen, "softmax_over": softmax_over}
    return x, noise, params, settings


def _apart(generator, n):
    return 0.5 * generator.permutation(n)


@st.composite
def noisy_logits_calls(draw):
    x, noise, params, _ = _routed(draw)
    return Call({"x": x, "noise": 30.0 * noise}, params, {}, draw(SEEDS))


@st.composite
def router_calls(draw):
    x, noise, params, settings = _routed(draw)
    return Call({"x": x, "noise": noise}, params, settings, draw(SEEDS))


@st.composite
def mixture_calls(draw):
    x, noise, router, settings = _routed(draw)
    n_expert, d_model = router["weight"].shape
    gated, d_shared = draw(st.booleans()), draw(st.none() | st.integers(1, 3))
    kinds = {"gated": gated, "d_shared": d_shared, "opened": draw(st.booleans())}
    sizes = {key: shape for key, shape in shapes(n_expert, d_model, 3, **kinds).items() if "router" not in key}
    params = {f"router.{key}": value for key, value in router.items()} | draw(strategies.params(sizes))
    kinds = {"gated": gated, "activation": draw(SMOOTH), "capacity": draw(st.none() | st.integers(0, 3))}
    return Call({"x": x, "noise": noise}, params, settings | kinds, draw(SEEDS))


@st.composite
def routed_experts_calls(draw):
    n_batch, n_seq, d_model = draw(strategies.sizes(3, max_side=4))
    n_expert, gated = draw(st.integers(1, 3)), draw(st.booleans())
    generator = draw(strategies.generators())
    sizes = shapes(n_expert, d_model, 3, gated=gated).items()
    params = draw(strategies.params({key.removeprefix("experts."): x for key, x in sizes if "router" not in key}))
    arrays = {
        "x": generator.standard_normal((n_batch, n_seq, d_model)),
        "weights": generator.standard_normal((n_batch, n_seq, n_expert)),
    }
    settings = {"gated": gated, "activation": draw(SMOOTH), "capacity": draw(st.none() | st.integers(0, 3))}
    settings["chosen"] = generator.random((n_batch, n_seq, n_expert)) < 0.6
    return Call(arrays, params, settings, draw(SEEDS))


@st.composite
def expert_choice_calls(draw):
    n_batch, n_seq, d_model = draw(strategies.sizes(3, max_side=4))
    n_expert = draw(st.integers(2, 3))
    generator = draw(strategies.generators())
    params = draw(strategies.params(shapes(n_expert, d_model, 3)))
    params["router.weight"] = params["router.weight"] * 0.02
    params["router.weight"][:, 0] = 0.4 * np.arange(n_expert)
    x = 0.1 * generator.standard_normal((n_batch, n_seq, d_model))
    x[..., 0] = [generator.permutation(n_seq) for _ in range(n_batch)]
    settings = {"capacity": draw(st.integers(0, n_seq)), "activation": draw(SMOOTH)}
    return Call({"x": x}, params, settings, draw(SEEDS))


@st.composite
def slot_calls(draw, *, combined):
    """Tokens for `dispatch`, or slots and weights for `combine`."""
    n_expert, n_batch, n_seq, d = draw(strategies.sizes(4, max_side=4))
    n_slot = draw(st.integers(1, n_seq))
    generator = draw(strategies.generators())
    ids = np.argsort(generator.random((n_expert, n_batch, n_seq)), axis=-1)[..., :n_slot]
    if not combined:
        x = draw(strategies.floating((n_batch, n_seq, d)))
        return Call({"x": x, "ids": ids}, None, {}, draw(SEEDS))
    arrays = {
        "slots": draw(strategies.floating((n_expert, n_batch * n_slot, d))),
        "weights": draw(strategies.floating((n_batch, n_seq, n_expert))),
    }
    return Call(arrays, None, {"ids": ids, "filled": generator.random(ids.shape) < 0.7}, draw(SEEDS))


@st.composite
def shared_expert_calls(draw):
    d_model = draw(st.integers(1, 5))
    sizes = shapes(1, d_model, 1, d_shared=draw(st.integers(1, 4)), opened=draw(st.booleans())).items()
    params = draw(strategies.params({key.removeprefix("shared."): x for key, x in sizes if key.startswith("shared.")}))
    x = draw(strategies.floating((*draw(strategies.shapes(max_rank=3)), d_model)))
    return Call({"x": x}, params, {"activation": draw(SMOOTH)}, draw(SEEDS))


@st.composite
def router_loss_calls(draw, *, balanced):
    n_batch, n_seq, n_expert = draw(strategies.sizes(3, max_side=4))
    generator = draw(strategies.generators())
    far = [[_apart(generator, n_expert) for _ in range(n_seq)] for _ in range(n_batch)]
    logits = np.asarray(far) + 0.05 * generator.standard_normal((n_batch, n_seq, n_expert))
    settings = {"is_token": draw(st.none() | strategies.masks((n_batch, n_seq), may_broadcast=False))}
    chosen = {"n_chosen": draw(st.integers(1, n_expert))} if balanced else {}
    return Call({"logits": logits}, None, settings | chosen, draw(SEEDS))
