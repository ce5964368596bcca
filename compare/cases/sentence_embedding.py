"""Sentence embedding by the mean, against the same arithmetic of Sentence-Transformers."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.layers.unit import unit_vectors
from refimpl.models.sentence_embedding import sentence_embedding


def inputs(generator, *, n_batch, n_seq, d_model, empty=False):
    lengths = generator.integers(1, n_seq + 1, n_batch)
    lengths[0] = 0 if empty else n_seq
    x = normal(generator, n_batch, n_seq, d_model)
    return Inputs((x,), {"is_token": lengths[:, None] > range(n_seq)})


def torch_sentence_embedding(x, *, is_token):
    kept = is_token[..., None].to(x.dtype)
    mean = (x * kept).sum(1) / kept.sum(1).clamp(min=1.0)
    # PyTorch divides by max(length, 1e-12), which half precision cannot hold; we say 0 where there are no tokens.
    empty = ~is_token.any(1, keepdim=True)
    return torch.nn.functional.normalize(mean.masked_fill(empty, 1.0), eps=0.0).masked_fill(empty, 0.0)



CASES = [
    Case(
        name="sentence_embedding",
        section="models",
        title="Sentence embedding",
        reference=sentence_embedding,
        inputs=inputs,
        configs=(
            Config("padded", {"n_batch": 4, "n_seq": 6, "d_model": 9}),
            Config("one_token", {"n_batch": 3, "n_seq": 1, "d_model": 8}),
            Config("without_tokens", {"n_batch": 3, "n_seq": 5, "d_model": 7, "empty": True}, oracles=False),
            Config("wide", {"n_batch": 64, "n_seq": 64, "d_model": 384}, measured=True),
        ),
        peers={"torch": torch_sentence_embedding},
        bugs={
            "padding summed up": rewritten(sentence_embedding, "xp.where(kept, x, 0.0)", "x"),
            "not normalised": rewritten(sentence_embedding, "unit_vectors(mean)", "(mean, unit_vectors(mean)[1])"),
            "gradient along the embedding": rewritten(
                sentence_embedding, unit_vectors=rewritten(unit_vectors, "g - unit * along_unit", "g")
            ),
            "gradient into padding": rewritten(sentence_embedding, "dx = xp.where(kept,", "dx = xp.where(kept | True,"),
        },
    )
]
