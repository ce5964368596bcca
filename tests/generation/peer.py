"""GPT-2 of `transformers` with random weights, and the same weights in our GPT."""

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

PAD = 2  # never written in these tests: `transformers` counts padding as text that may not be repeated


def their_gpt2(seed, *, vocab_size=13, eos=0, scale=0.6, n_layer=1):
    """In float64.  Larger weights than usual: texts differ, and the end-of-text token comes."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=vocab_size, n_positions=24, n_embd=12, n_layer=n_layer, n_head=3, bos_token_id=0, eos_token_id=eos,
        pad_token_id=PAD, attn_implementation="eager", initializer_range=scale,
    )  # fmt: skip
    return GPT2LMHeadModel(config).double().eval()


def generate(model, token_ids, mask, n_new, **settings):
    """The new tokens that `transformers` writes, without what stands behind an end-of-text token."""
    settings = {"do_sample": False, "suppress_tokens": [PAD], **settings}
    inputs = {"attention_mask": torch.tensor(mask).long(), "max_new_tokens": n_new}
    out = model.generate(torch.tensor(token_ids), **inputs, **settings)
    eos = model.config.eos_token_id
    eos = set(eos if isinstance(eos, list) else [eos])
    written = []
    for row in (out if isinstance(out, torch.Tensor) else out.sequences)[:, token_ids.shape[1] :].tolist():
        ends = [i for i, token in enumerate(row) if token in eos]
        written.append(row[: ends[0] + 1] if ends else row)
    return written, out


def quantile_of_chi_square(n_outcome):
    """What an honest sampler exceeds once in a million times."""
    from scipy.stats import chi2

    return chi2.isf(2.0**-20, n_outcome - 1)


def chi_square(counts, probabilities):
    """Pearson's statistic; infinite where what cannot happen has happened."""
    counts, expected = np.asarray(counts, dtype=float), np.sum(counts) * np.asarray(probabilities)
    if np.any(counts[expected == 0.0] > 0.0):
        return np.inf
    possible = expected > 0.0
    return np.sum((counts[possible] - expected[possible]) ** 2 / expected[possible])
