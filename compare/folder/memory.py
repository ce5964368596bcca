"""Tell beforehand how much memory a comparison needs: our text on shape-only arrays, as long as the texts will be."""

from dataclasses import replace
from math import ceil

import numpy as np

from compare.folder.inputs import input_shapes
from compare.folder.ours import run_ours
from compare.interpretations import cost
from compare.report.words import scaled
from refimpl.checkpoints import CheckpointError
from refimpl.models.decoder.mixture import Mixture

# What the truth takes of a float64: its value and its variance, and what is in the making meanwhile.  Measured: 2.3.
RUNNING = 2.5
# As the file has it, in float64, in the dtype that is compared, and in the model of `transformers`.
BYTES_OF_A_WEIGHT = 28
# Longer texts are not tried: what they need is a quadratic function of their length.
TRIED = 4096


def forward_bytes(checkpoint, groups, n_batch, n_seq):
    """Run our text on shape-only arrays.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    groups : frozenset of str
        The parts of the model beside the backbone.
    n_batch, n_seq : int
        How many texts it reads, of how many tokens.

    Returns
    -------
    peak_bytes : int
        The most that is alive at once in float64, parameters and inputs not.
    n_stage : int
        How many stages hand on to others.
    """
    model_type, config = checkpoint.model_type, _evenly(checkpoint.config, n_seq)
    shapes = input_shapes(model_type, config, n_batch=n_batch, n_seq=n_seq)
    ids = {key: cost.empty(shape, "int64" if key.endswith("ids") else "float64") for key, shape in shapes.items()}
    params = {key: cost.empty(x.shape, "float64") for key, x in checkpoint.params.items()}
    with cost.tracking() as tracker:
        seen = run_ours(model_type, ids, params, config, groups=groups)
    return tracker.peak_bytes, len(seen.handed)


def _evenly(config, n_seq):
    """Give all experts the same to do: what shapes can tell."""
    feeds = getattr(config, "feeds", ())
    if not any(isinstance(feed, Mixture) for feed in feeds):
        return config
    even = [
        replace(feed, capacity=ceil(feed.n_chosen * n_seq / feed.n_expert)) if isinstance(feed, Mixture) else feed
        for feed in feeds
    ]
    return replace(config, feeds=tuple(even))


def check_memory(checkpoint, groups, n_batch, n_seq, limit=None):
    """Refuse, before the work, what would not fit.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    groups : frozenset of str
        The parts of the model beside the backbone.
    n_batch, n_seq : int
        How many texts it reads, of how many tokens.
    limit : int, optional
        Most bytes that the comparison may need; by default any number.

    Returns
    -------
    int
        The number of stages that hand on to others.

    Raises
    ------
    CheckpointError
        One sentence with what is needed, and how many tokens would do.
    """

    def running(n):
        return RUNNING * forward_bytes(checkpoint, groups, n_batch, n)[0]

    tried = min(n_seq, TRIED)
    peak_bytes, n_stage = forward_bytes(checkpoint, groups, n_batch, tried)
    weights = BYTES_OF_A_WEIGHT * sum(x.size for x in checkpoint.params.values())
    needed = weights + RUNNING * peak_bytes
    if limit is None or (needed <= limit and tried == n_seq):
        return n_stage
    lengths = [tried, tried // 2, tried // 4]
    if not lengths[-1]:
        raise CheckpointError(_needs(n_seq, needed, limit))
    law = np.polyfit(lengths, [running(n) for n in lengths], 2)
    needed = weights + max(RUNNING * peak_bytes, float(np.polyval(law, n_seq)))
    if needed <= limit:
        return n_stage
    longest = int(max(np.roots(law - [0, 0, limit - weights]).real, default=0))
    raise CheckpointError(_needs(n_seq, needed, limit) + (f"; about {longest} would do" if longest > 0 else ""))


def _needs(n_seq, needed, limit):
    bytes_ = [scaled(n, "B", 1024) for n in (needed, limit)]
    return f"{n_seq} tokens need about {bytes_[0]} of memory, more than the limit of {bytes_[1]}"
