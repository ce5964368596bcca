"""Adaptive embedding, softmax and loss, against one table of full vectors and PyTorch's own adaptive softmax."""

import numpy as np
import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.transformer_xl_torch import log_softmax
from refimpl.layers.adaptive_embedding import adaptive_embedding
from refimpl.layers.adaptive_softmax import _scores, adaptive_cross_entropy, adaptive_log_softmax


def table_shapes(cutoffs, n_token, d_model, widths):
    """Shapes of tables and projections; a table as wide as the model has no projection."""
    ends = [*cutoffs, n_token]
    sizes = [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    tables = {f"tables.{i}.weight": (n, width) for i, (n, width) in enumerate(zip(sizes, widths, strict=True))}
    projections = {f"projections.{i}.weight": (d_model, w) for i, w in enumerate(widths) if w != d_model}
    return tables | projections


def softmax_shapes(cutoffs, n_token, d_model, widths, biased=True):
    shapes = table_shapes(cutoffs, n_token, d_model, widths)
    if cutoffs:
        shapes |= {"clusters.weight": (len(cutoffs), widths[0]), "clusters.bias": (len(cutoffs),)}
    shapes |= {key.replace("weight", "bias"): shape[:1] for key, shape in shapes.items() if key.startswith("tables")}
    return {key: shape for key, shape in shapes.items() if biased or not key.endswith("bias")}


def embedding_inputs(generator, *, lead, n_token, **sizes):
    ids = generator.integers(0, n_token, lead)
    return Inputs((ids, normal_params(generator, table_shapes(n_token=n_token, **sizes))))


def softmax_inputs(generator, *, lead, **sizes):
    return Inputs((normal(generator, *lead, sizes["d_model"]), normal_params(generator, softmax_shapes(**sizes))))


def loss_inputs(generator, *, lead, **sizes):
    x, params = softmax_inputs(generator, lead=lead, **sizes).args
    targets = generator.integers(0, sizes["n_token"], lead)
    return Inputs((x, np.where(generator.random(lead) < 0.2, -100, targets), params))


def torch_embedding(ids, params, *, cutoffs=()):
    starts, parts = [0, *cutoffs], []
    cluster = torch.bucketize(ids, torch.tensor(cutoffs, dtype=ids.dtype), right=True)
    for i, start in enumerate(starts):
        table, projection = params[f"tables.{i}.weight"], params.get(f"projections.{i}.weight")
        rows = torch.nn.functional.embedding(ids[cluster == i] - start, table)
        parts.append(rows if projection is None else rows @ projection.mT)
    y = torch.zeros(*ids.shape, parts[0].shape[-1], dtype=parts[0].dtype)
    for i, part in enumerate(parts):
        y = y.index_put((cluster == i,), part)
    return y


def torch_log_softmax(x, params, *, cutoffs=()):
    of = lambda kind: [params.get(kind.format(i)) for i in range(len(cutoffs) + 1)]  # noqa: E731
    parts = of("tables.{}.weight"), of("tables.{}.bias"), of("projections.{}.weight")
    return log_softmax(x, *parts, (params.get("clusters.weight"), params.get("clusters.bias")), cutoffs)


def torch_loss(x, targets, params, *, cutoffs=()):
    log_probs = torch_log_softmax(x, params, cutoffs=cutoffs).flatten(0, -2)
    losses = torch.nn.functional.nll_loss(log_probs, targets.flatten(), reduction="none", ignore_index=-100)
    return losses.reshape(targets.shape)


def torch_nn(x, params, *, cutoffs):
    """PyTorch's module has no biases, no projection of the first cluster, and widths of its own choosing."""
    n_token = sum(weight.shape[0] for key, weight in params.items() if key.startswith("tables"))
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(x.shape[-1], n_token, cutoffs, div_value=2.0, device="meta")
    theirs = {"head.weight": torch.cat([params["tables.0.weight"], params["clusters.weight"]])}
    for i in range(len(cutoffs)):
        theirs[f"tail.{i}.0.weight"] = params[f"projections.{i + 1}.weight"].mT
        theirs[f"tail.{i}.1.weight"] = params[f"tables.{i + 1}.weight"]
    with torch.nn.utils.stateless._reparametrize_module(module, theirs):
        return module.log_prob(x.flatten(0, -2)).unflatten(0, x.shape[:-1])


def configs(**more):
    three = {"cutoffs": (4, 7), "n_token": 13, "d_model": 6}
    return (
        Config("narrowing", {"lead": (2, 9), **three, "widths": (6, 3, 1), **more}, {"cutoffs": (4, 7)}),
        Config("projected", {"lead": (17,), **three, "widths": (8, 4, 2), **more}, {"cutoffs": (4, 7)}),
        # No target is in the last cluster.
        Config("one_row", {"lead": (1,), **three, "widths": (5, 5, 5), **more}, {"cutoffs": (4, 7)}),
        Config("one_cluster", {"lead": (3, 2), **three, "cutoffs": (), "widths": (6,), **more}),
    )


CLUSTERS_BACKWARDS = rewritten(
    adaptive_log_softmax, "head[..., n_first + i - 1 : n_first + i]", "xp.expand_dims(head[..., -i], axis=-1)"
)
CASES = [
    Case(
        name="adaptive_embedding",
        section="layers",
        title="Adaptive embedding",
        reference=adaptive_embedding,
        inputs=embedding_inputs,
        configs=configs(),
        peers={"torch": torch_embedding},
        bugs={
            "every cluster's rows counted from 0": rewritten(
                adaptive_embedding, "xp.where(inside, ids - start, 0)", "xp.where(inside, ids, 0) * (start == 0)"
            ),
            "border of a cluster off by one": rewritten(adaptive_embedding, "(ids >= start)", "(ids > start)"),
            "gradient of tokens of other clusters added": rewritten(
                adaptive_embedding, "wide_pullback(xp.where(inside[..., None], dy, 0.0))", "wide_pullback(dy)"
            ),
        },
    ),
    Case(
        name="adaptive_log_softmax",
        section="layers",
        title="Adaptive softmax",
        reference=adaptive_log_softmax,
        inputs=softmax_inputs,
        configs=configs(),
        peers={"torch": torch_log_softmax},
        bugs={
            "clusters counted from the end": CLUSTERS_BACKWARDS,
            "log-probability of the cluster not added": rewritten(
                adaptive_log_softmax, "head[..., n_first + i - 1 : n_first + i] + within", "within"
            ),
            "gradient of the cluster of one token only": rewritten(
                adaptive_log_softmax, "xp.sum(dpart, axis=-1, keepdims=True)", "dpart[..., :1]"
            ),
            "clusters not scored in the head": rewritten(
                adaptive_log_softmax, _scores=rewritten(_scores, "linear(narrow, joined)",
                "linear(narrow, {key: xp.where((xp.arange(x.shape[0]) < n_own)[(..., *[None] * (x.ndim - 1))], x, 0.0)"
                " for key, x in joined.items()})")
            ),
        },
    ),
    Case(
        name="adaptive_cross_entropy",
        section="layers",
        title="Loss of the adaptive softmax",
        reference=adaptive_cross_entropy,
        inputs=loss_inputs,
        configs=configs(),
        peers={"torch": torch_loss},
        bugs={
            "target of the head one cluster too far": rewritten(
                adaptive_cross_entropy, "n_first - 1 + cluster", "n_first - 2 + cluster"
            ),
            "targets not counted from the cluster's first": rewritten(
                adaptive_cross_entropy, "flat[places] - start", "0 * flat[places]"
            ),
            "ignored targets scored": rewritten(
                adaptive_cross_entropy, "xp.where(ignored, ignore_index, head", "xp.where(ignored, 0, head"
            ),
            "gradient of rare tokens to the first rows": rewritten(
                adaptive_cross_entropy, "scatter_add(places, dchosen, n_row)",
                "scatter_add(xp.arange(places.shape[0]), dchosen, n_row)",
            ),
        },
    ),
    Case(
        name="adaptive_log_softmax_unbiased",
        section="layers",
        title="Adaptive softmax of PyTorch",
        reference=adaptive_log_softmax,
        inputs=softmax_inputs,
        configs=configs(biased=False)[:1],
        peers={"torch": torch_nn},
        bugs={"clusters counted from the end": CLUSTERS_BACKWARDS},
    ),
]
