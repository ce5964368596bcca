"""Linear attention, of all keys and causal, against the same sums and against the quadratic definition."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.linear import attention as module
from refimpl.attention.linear.attention import causal_linear_attention, elu_plus_one, linear_attention
from refimpl.layers.relu import relu
from refimpl.layers.softmax import softmax

TORCH_MAPS = {
    # Not elu(x) + 1: far below 0 the two nearly cancel, and what is left of exp(x) has few digits.
    elu_plus_one: lambda x: torch.where(x > 0.0, x + 1.0, torch.exp(x.clamp(max=0.0))),
    relu: torch.relu,
    softmax: lambda x: torch.softmax(x, -1),
}


def inputs(generator, *, lead, n_query, n_key, d_head, d_value, padded=False, state=False):
    q = normal(generator, *lead, n_query, d_head)
    k = normal(generator, *lead, n_key, d_head)
    v = normal(generator, *lead, n_key, d_value)
    past = (normal(generator, *lead, d_head, d_value), 1.0 + abs(normal(generator, *lead, d_head))) if state else ()
    masks = {"is_token": generator.random((lead[0], 1, n_key)) < 0.7} if padded else {}
    return Inputs((q, k, v, *past), masks)


def pointwise_inputs(generator, *, shape):
    return Inputs((normal(generator, *shape, scale=2.0),))


def torch_linear(q, k, v, *, feature_map=elu_plus_one, is_token=None):
    of_q, of_k = (TORCH_MAPS[feature_map](x) for x in (q, k))
    kept = of_k if is_token is None else of_k * is_token[..., None]
    ones = torch.ones_like(v[..., :1])
    # The denominator is the sum of the same weights, with 1 in the place of every value.
    sums = of_q @ (kept.mT @ torch.cat([v, ones], -1))
    total = sums[..., -1:]
    return sums[..., :-1] / torch.where(total == 0.0, 1.0, total)


def _quadratic(is_seen):
    def torch_quadratic(q, k, v, *, feature_map=elu_plus_one, is_token=None):
        phi = TORCH_MAPS[feature_map]
        scores = phi(q) @ phi(k).mT * is_seen(q.shape[-2], k.shape[-2])
        scores = scores if is_token is None else scores * is_token[..., None, :]
        total = scores.sum(-1, keepdim=True)
        return scores @ v / torch.where(total == 0.0, 1.0, total)

    return torch_quadratic


def _all(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool)


def _causal(n_query, n_key):
    return torch.tensor([[n_query - i <= n_key - j for j in range(n_key)] for i in range(n_query)])


WRONG_MAP = rewritten(elu_plus_one, "x + 1.0", "x")
MAP_BUGS = {
    "elu without the 1": rewritten(
        elu_plus_one, "y = xp.where(above, x + 1.0, slope)", "y = xp.where(above, x, slope - 1.0)"
    ),
    "1 above 0 forgotten": WRONG_MAP,
    "slope of 1 everywhere": rewritten(elu_plus_one, "dy * slope", "dy * (slope * 0.0 + 1.0)"),
    "exp everywhere": rewritten(elu_plus_one, "above = x > 0.0", "above = x > 1e30"),
}


def feature_bugs(function):
    """Give the component features that are no longer positive."""

    def wrong(*args, feature_map=elu_plus_one, **settings):
        return function(*args, feature_map=WRONG_MAP if feature_map is elu_plus_one else feature_map, **settings)

    return {"feature map wrong": wrong}


BUGS = {
    **feature_bugs(linear_attention),
    "not normalised": rewritten(
        linear_attention, "_nonzero(xp, xp.sum(of_q * normaliser, axis=-1, keepdims=True))", "float(k.shape[-2])"
    ),
    "padding counts in the normaliser": rewritten(
        linear_attention,
        _features_of_tokens=rewritten(module._features_of_tokens, "_blank(xp, features, is_token)", "features"),
    ),
    "gradient of the normaliser lost": rewritten(
        linear_attention, "dtotal = -xp.sum(dsum * y, axis=-1, keepdims=True)", "dtotal = 0.0 * dsum[..., :1]"
    ),
    "gradient of the memory not divided": rewritten(
        linear_attention, "dmemory = xp.matmul(xp.swapaxes(of_q, -1, -2), dsum)",
        "dmemory = xp.matmul(xp.swapaxes(of_q, -1, -2), dy)",
    ),
}  # fmt: skip
CAUSAL_BUGS = {
    **feature_bugs(causal_linear_attention),
    "causal mask off by one": rewritten(
        causal_linear_attention, "n_before = k.shape[-2] - q.shape[-2]", "n_before = k.shape[-2] - q.shape[-2] + 1"
    ),
    "aligned top-left": rewritten(causal_linear_attention, "n_before = k.shape[-2] - q.shape[-2]", "n_before = 0"),
    "normalised over all keys": rewritten(
        causal_linear_attention,
        "xp.sum(weights, axis=-1, keepdims=True)",
        "xp.sum(xp.matmul(of_q, xp.swapaxes(of_k, -1, -2)), axis=-1, keepdims=True)",
    ),
    "gradient of what is not seen": rewritten(
        causal_linear_attention,
        "xp.tril(xp.matmul(dsum, xp.swapaxes(values, -1, -2)), k=n_before)",
        "xp.matmul(dsum, xp.swapaxes(values, -1, -2))",
    ),
    "gradient of the normaliser from all keys": rewritten(
        causal_linear_attention, "dtotal * xp.matmul(seen, of_k)", "dtotal * xp.sum(of_k, axis=-2, keepdims=True)"
    ),
}


SIZES = {"lead": (2, 3), "n_query": 4, "n_key": 6, "d_head": 3, "d_value": 5}
SEQUENCE = {"lead": (2, 3), "n_query": 5, "n_key": 5, "d_head": 4, "d_value": 3}
WIDE = {"lead": (4,), "n_query": 256, "n_key": 256, "d_head": 32, "d_value": 32}

CASES = [
    Case(
        name="elu_plus_one",
        section="attention",
        title="Features of linear attention: elu + 1",
        reference=elu_plus_one,
        inputs=pointwise_inputs,
        configs=(Config("rank3", {"shape": (2, 5, 7)}), Config("wide", {"shape": (8, 256, 256)}, measured=True)),
        peers={"torch": TORCH_MAPS[elu_plus_one]},
        bugs=MAP_BUGS,
    ),
    Case(
        name="linear_attention",
        section="attention",
        title="Linear attention",
        reference=linear_attention,
        inputs=inputs,
        configs=(
            Config("padded", {**SIZES, "padded": True}),
            Config("softmax_features", SIZES, {"feature_map": softmax}, profile="full"),
            Config("wide", WIDE, measured=True),
        ),
        peers={"torch": torch_linear},
        bugs=BUGS,
    ),
    # Taking all weights first sums the same numbers in an order that rounds worse, the more so the more keys there are.
    Case(
        name="linear_attention_definition",
        section="attention",
        title="Linear attention against its quadratic definition",
        reference=linear_attention,
        inputs=inputs,
        configs=(
            Config("padded", {**SIZES, "padded": True}),
            Config("relu_features", {**SIZES, "d_head": 16}, {"feature_map": relu}, profile="full"),
        ),
        peers={"torch": _quadratic(_all)},
        bugs=BUGS,
    ),
    Case(
        name="causal_linear_attention",
        section="attention",
        title="Causal linear attention",
        reference=causal_linear_attention,
        inputs=inputs,
        configs=(
            Config("shorter", SIZES),
            Config("padded", {**SEQUENCE, "padded": True}, {"feature_map": softmax}, profile="full"),
            Config("more_queries", {**SIZES, "n_query": 7}, profile="full"),
            Config("wide", WIDE, measured=True),
        ),
        peers={"torch": _quadratic(_causal)},
        bugs=CAUSAL_BUGS,
    ),
]
