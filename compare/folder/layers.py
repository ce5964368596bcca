"""Judge every layer twice: in the model, with the errors of those below it, and alone, on the true input."""

import time
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from compare.folder.ours import run_ours
from compare.folder.theirs import run_theirs
from compare.interpretations.policy import erf_by_polynomial
from compare.interpretations.spread import spread
from compare.measure.truth import rounded_to
from compare.peers.tree import map_arrays
from compare.verdict.spread_rule import judge

ALONE, IN_MODEL = "alone", "in the model"


@dataclass(frozen=True)
class Layers:
    """The error figures of every stage in one dtype.

    Attributes
    ----------
    dtype : str
        The dtype.
    reference, peer : dict of (str, dict)
        By stage the figures ``"alone"`` and ``"in the model"``, as `judge` gives them.
    seconds : float
        What it took.
    """

    dtype: str
    reference: dict
    peer: dict
    seconds: float

    def first(self, which=ALONE):
        """Find the first stage that differs.

        Parameters
        ----------
        which : {"alone", "in the model"}
            On the true input, or on what the stages below handed on.

        Returns
        -------
        str or None
            Its name; None where no stage differs.
        """
        return next((stage for stage, figures in self.peer.items() if not figures[which]["passed"]), None)


def draw_ids(config, *, n_batch=2, n_seq=12, seed=0, two=False):
    """Draw token ids.

    Parameters
    ----------
    config : object
        Knows the vocabulary, and perhaps how many positions there are.
    n_batch, n_seq : int
        How many.
    seed : int
        Of the generator.
    two : bool
        Whether an encoder–decoder reads them.

    Returns
    -------
    dict of (str, numpy.ndarray of int)
        ``"token_ids"``, and for an encoder–decoder ``"target_ids"``.
    """
    generator = np.random.default_rng(seed)
    n_seq = min(n_seq, getattr(config, "n_position", n_seq))
    ids = {"token_ids": generator.integers(0, config.vocab_size, (n_batch, n_seq))}
    return ids | ({"target_ids": generator.integers(0, config.vocab_size, (n_batch, max(1, n_seq - 3)))} if two else {})


def compare_layers(checkpoint, groups, model, ids, dtype):
    """Compare a model of `transformers` with our text on a checkpoint.

    Parameters
    ----------
    checkpoint : Checkpoint
        Whose numbers are true.
    groups : frozenset of str
        The parts of the model beside the backbone.
    model : torch.nn.Module
        The model of `transformers`, in `dtype`.
    ids : dict of (str, numpy.ndarray of int)
        What both read.
    dtype : {"float64", "float32"}
        In which both compute.

    Returns
    -------
    Layers
        The error figures.

    Notes
    -----
    The truth and its tolerance come from our text on spread arrays, in float64.  Alone, each layer reads what the true
    model hands to it, rounded to the dtype; so an error that it only passes on is none of its own.
    """
    start = time.perf_counter()
    who = {"groups": groups}
    name, config = checkpoint.model_type, checkpoint.config
    params = {key: rounded_to(np.asarray(x, np.float64), dtype) for key, x in checkpoint.params.items()}
    lifted = map_arrays(lambda x: spread(x, dtype), (ids, params))
    # The GELU of PyTorch on the CPU: see the policy.
    declared = erf_by_polynomial if dtype == "float32" else nullcontext
    with declared():
        whole = run_ours(name, lifted[0], lifted[1], config, **who)
    true = [[rounded_to(np.asarray(x.value, np.float64), dtype) for x in states] for states in whole.states]
    with declared():
        fed = [[spread(x, dtype) for x in states] for states in true]
        alone = run_ours(name, lifted[0], lifted[1], config, true=fed, **who)
    narrow = {key: x.astype(dtype) for key, x in params.items()}
    own = {
        IN_MODEL: run_ours(name, ids, narrow, config, **who),
        ALONE: run_ours(name, ids, narrow, config, true=_cast(true, dtype), **who),
    }
    theirs = {
        IN_MODEL: run_theirs(model, name, ids, dtype),
        ALONE: run_theirs(model, name, ids, dtype, true=true),
    }
    truths = {IN_MODEL: whole, ALONE: alone}
    sides = [
        {
            stage: {which: _judged(seen[which].stages.get(stage), truths[which].stages[stage]) for which in truths}
            for stage in whole.stages
        }
        for seen in (own, theirs)
    ]
    return Layers(dtype, *sides, time.perf_counter() - start)


def _judged(found, truth):
    return judge(found, truth, rounded_truth=truth.dtype == np.float64)


def _cast(true, dtype):
    return [[x.astype(dtype) for x in states] for states in true]
