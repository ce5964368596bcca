"""Additive (Bahdanau) and multiplicative (Luong) attention, against a loop over single queries and states."""

import numpy as np
import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from refimpl.attention.alignment import multiplicative
from refimpl.attention.alignment.additive import additive_attention
from refimpl.attention.alignment.align import align
from refimpl.attention.alignment.multiplicative import multiplicative_attention


def inputs(generator, shapes, *, lead, n_query, n_key, d_query, d_state, mask=None):
    q, states = normal(generator, *lead, n_query, d_query), normal(generator, *lead, n_key, d_state)
    masks = {}
    if mask is not None:
        masks["mask"] = draw_mask(generator, mask, lead, n_query, n_key)
        # What nobody attends to may hold anything.
        states[np.broadcast_to(~masks["mask"].any(axis=-2), states.shape[:-1])] = float("nan")
    return Inputs((q, states, normal_params(generator, shapes)), masks)


def additive_inputs(generator, *, d_query, d_state, d_hidden, biased=False, **sizes):
    shapes = {"query.weight": (d_hidden, d_query), "key.weight": (d_hidden, d_state), "score.weight": (1, d_hidden)}
    biases = {"query.bias": (d_hidden,), "key.bias": (d_hidden,)} if biased else {}
    return inputs(generator, {**shapes, **biases}, d_query=d_query, d_state=d_state, **sizes)


def multiplicative_inputs(generator, *, d_query, d_state, d_hidden=None, **sizes):
    shapes = {} if d_state == d_query else {"weight": (d_query, d_state)}
    if d_hidden is not None:
        shapes = {"weight": (d_hidden, d_query + d_state), "score.weight": (1, d_hidden)}
    return inputs(generator, shapes, d_query=d_query, d_state=d_state, **sizes)


def attend(q, states, mask, score):
    """One query after the other, and for each one state after the other, leaving out what is masked."""
    scores_shape = (*q.shape[:-1], states.shape[-2])
    allowed = torch.ones(scores_shape, dtype=bool) if mask is None else mask.expand(scores_shape)
    rows = zip(
        q.reshape(-1, *q.shape[-2:]), states.reshape(-1, *states.shape[-2:]), allowed.reshape(-1, *scores_shape[-2:]),
        strict=True,
    )  # fmt: skip
    gathered, weights = [], []
    for queries, keys, may in rows:
        for query, attends in zip(queries, may, strict=True):
            weight, context = torch.zeros_like(keys[:, 0]), torch.zeros_like(keys[0])
            places = attends.nonzero()[:, 0]
            if len(places):
                found = torch.softmax(torch.stack([score(query, keys[j]) for j in places]), 0)
                context = sum(share * keys[j] for share, j in zip(found, places, strict=True))
                weight = torch.zeros_like(weight).index_put((places,), found)
            gathered.append(context)
            weights.append(weight)
    return torch.stack(gathered).reshape(*q.shape[:-1], -1), torch.stack(weights).reshape(scores_shape)


def torch_additive(q, states, params, *, mask=None):
    bias = sum(params[key] for key in ("query.bias", "key.bias") if key in params)

    def score(query, key):
        hidden = torch.tanh(params["query.weight"] @ query + params["key.weight"] @ key + bias)
        return params["score.weight"][0] @ hidden

    return attend(q, states, mask, score)


def torch_multiplicative(q, states, params, *, score="dot", mask=None):
    scores = {
        "dot": lambda query, key: query @ key,
        "general": lambda query, key: query @ params["weight"] @ key,
        "concat": lambda query, key: params["score.weight"][0] @ torch.tanh(params["weight"] @ torch.cat([query, key])),
    }
    return attend(q, states, mask, scores[score])


ALIGN_BUGS = {
    "mask ignored": rewritten(align, "softmax(scores, mask=mask)", "softmax(scores)"),
    "weights along the queries": rewritten(align, "mask=mask)\n    gathered", "mask=mask, axis=-2)\n    gathered"),
    "gradient of the weights lost": rewritten(align, "softmax_pullback(dweights + ", "softmax_pullback("),
    "gradient of what is gathered lost": rewritten(
        align, "dweights + xp.matmul(dgathered, xp.swapaxes(values, -1, -2))", "dweights"
    ),
}


def within_product(old, new):
    return rewritten(
        multiplicative_attention, _attend_product=rewritten(multiplicative._attend_product, old, new)
    )


CASES = [
    Case(
        name="additive_attention",
        section="attention",
        title="Additive attention over an encoder's states",
        reference=additive_attention,
        inputs=additive_inputs,
        configs=(
            Config("plain", {"lead": (2,), "n_query": 3, "n_key": 5, "d_query": 4, "d_state": 6, "d_hidden": 7}),
            Config(
                "padding", {"lead": (3, 2), "n_query": 2, "n_key": 5, "d_query": 4, "d_state": 3, "d_hidden": 6,
                            "mask": "padding", "biased": True},
            ),
            Config(
                "empty_rows", {"lead": (), "n_query": 4, "n_key": 6, "d_query": 3, "d_state": 5, "d_hidden": 2,
                               "mask": "empty rows"},
            ),
            Config("one_query", {"lead": (2,), "n_query": 1, "n_key": 1, "d_query": 3, "d_state": 2, "d_hidden": 4},
                   profile="full"),
        ),
        peers={"torch": torch_additive},
        outputs=("gathered", "weights"),
        bugs={
            **{name: rewritten(additive_attention, align=bug) for name, bug in ALIGN_BUGS.items()},
            "products instead of sums": rewritten(additive_attention, "None, :] + from_k", "None, :] * from_k"),
            "gradient of the queries from one key": rewritten(
                additive_attention, "xp.sum(dsum, axis=dsum.ndim - 2)", "dsum[..., 0, :]"
            ),
            "gradient of the states that were gathered alone": rewritten(
                additive_attention, "dkeys_gathered + dkeys_scored", "dkeys_gathered"
            ),
        },
    ),
    Case(
        name="multiplicative_attention",
        section="attention",
        title="Multiplicative attention over an encoder's states",
        reference=multiplicative_attention,
        inputs=multiplicative_inputs,
        configs=(
            Config("dot", {"lead": (2,), "n_query": 3, "n_key": 6, "d_query": 5, "d_state": 5}),
            Config(
                "general",
                {"lead": (3, 2), "n_query": 2, "n_key": 5, "d_query": 4, "d_state": 3, "mask": "padding"},
                {"score": "general"},
            ),
            Config(
                "concat",
                {"lead": (2,), "n_query": 4, "n_key": 5, "d_query": 3, "d_state": 2, "d_hidden": 6,
                 "mask": "empty rows"},
                {"score": "concat"},
            ),
            Config("dot_masked", {"lead": (4, 1), "n_query": 3, "n_key": 7, "d_query": 2, "d_state": 2,
                                  "mask": "padding"}, profile="full"),
        ),
        peers={"torch": torch_multiplicative},
        outputs=("gathered", "weights"),
        bugs={
            **{name: rewritten(
                multiplicative_attention,
                _attend_product=rewritten(multiplicative._attend_product, align=bug),
            ) for name, bug in ALIGN_BUGS.items()},
            "scaled as in the Transformer": within_product(
                "xp.swapaxes(keys, -1, -2))\n    y", "xp.swapaxes(keys, -1, -2)) / q.shape[-1] ** 0.5\n    y"
            ),
            "gradient of the states that were gathered alone": within_product("dgathered + dkeys", "dgathered"),
            "query and state exchanged in the weight": rewritten(
                multiplicative_attention, _attend_concat=rewritten(
                    multiplicative._attend_concat, "of_q, of_k = xp.split(params[\"weight\"], [q.shape[-1]], axis=1)",
                    "of_k, of_q = xp.split(params[\"weight\"], [states.shape[-1]], axis=1)",
                )
            ),
        },
    ),
]  # fmt: skip
