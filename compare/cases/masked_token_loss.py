"""The loss of masked language modelling, against PyTorch."""

import numpy as np
import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.models.masked_token_loss import masked_token_loss


def inputs(generator, *, n_batch, n_seq, d_model, vocab_size, n_masked, biased=True):
    shapes = {"weight": (vocab_size, d_model), **({"bias": (vocab_size,)} if biased else {})}
    positions = np.sort(generator.permutation(n_batch * n_seq)[:n_masked])
    targets = generator.integers(0, vocab_size, n_masked)
    x = normal(generator, n_batch, n_seq, d_model)
    return Inputs((x, positions, targets, normal_params(generator, shapes)))


def torch_loss(x, positions, targets, params):
    logits = torch.nn.functional.linear(x.reshape(-1, x.shape[-1]), params["weight"], params.get("bias"))
    # All positions are scored, and those that were not masked are left out, as `transformers` does.
    labels = torch.full((len(logits),), -100).index_put((positions,), targets)
    return torch.nn.functional.cross_entropy(logits, labels)


CASES = [
    Case(
        name="masked_token_loss",
        section="models",
        title="Masked-token loss",
        reference=masked_token_loss,
        inputs=inputs,
        configs=(
            Config("biased", {"n_batch": 3, "n_seq": 5, "d_model": 6, "vocab_size": 11, "n_masked": 4}),
            Config(
                "unbiased", {"n_batch": 2, "n_seq": 7, "d_model": 4, "vocab_size": 9, "n_masked": 8, "biased": False}
            ),
            Config(
                "wide", {"n_batch": 8, "n_seq": 32, "d_model": 384, "vocab_size": 4096, "n_masked": 38}, measured=True
            ),
        ),
        peers={"torch": torch_loss},
        bugs={
            "mean over all positions": rewritten(
                masked_token_loss,
                cross_entropy=rewritten(cross_entropy, "= _n_counted(ignored", "= 3.0 * _n_counted(ignored"),
            ),
            "positions off by one": rewritten(
                masked_token_loss, "d_model))[positions]", "d_model))[(positions + 1) % (n_batch * n_seq)]"
            ),
            "gradient at the wrong positions": rewritten(
                masked_token_loss, "scatter_add(positions,", "scatter_add(n_batch * n_seq - 1 - positions,"
            ),
        },
    )
]
