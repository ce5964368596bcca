"""Judge every layer twice: in the model, with the errors of those below it, and alone, on the true input."""

import time
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from compare.folder.ours import run_ours
from compare.interpretations.policy import erf_by_polynomial
from compare.interpretations.spread import spread
from compare.measure.truth import rounded_to
from compare.peers.tree import map_arrays
from compare.verdict.spread_rule import judge

ALONE, IN_MODEL = "alone", "in the model"
# The truth, our text and `transformers`, each in both ways.
N_RUN = 6


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


def compare_layers(checkpoint, groups, model, ids, dtype, *, note=None):
    """Compare a model of `transformers` with our text on a checkpoint.

    Parameters
    ----------
    checkpoint : Checkpoint
        Whose numbers are true.
    groups : frozenset of str
        The parts of the model beside the backbone.
    model : Theirs or Elsewhere
        The model of `transformers`, in `dtype`.
    ids : dict of (str, numpy.ndarray)
        What both read.
    dtype : {"float64", "float32"}
        In which both compute.
    note : callable, optional
        Called after every stage of each of six runs: to tell how far the work is.

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
    name, config = checkpoint.model_type, checkpoint.config
    params = {key: rounded_to(np.asarray(x, np.float64), dtype) for key, x in checkpoint.params.items()}

    def ours(ids, params, true=None):
        return run_ours(name, ids, params, config, groups=groups, true=true, note=note)

    lifted = map_arrays(lambda x: spread(x, dtype), (ids, params))
    # The GELU of PyTorch on the CPU: see the policy.
    declared = erf_by_polynomial if dtype == "float32" else nullcontext
    with declared():
        whole = ours(*lifted)
        true = {key: rounded_to(np.asarray(whole.stages[key].value, np.float64), dtype) for key in whole.handed}
        alone = ours(*lifted, {key: spread(x, dtype) for key, x in true.items()})
    narrow = {key: x.astype(dtype) for key, x in params.items()}
    given = {key: x.astype(dtype) if x.dtype.kind == "f" else x for key, x in ids.items()}
    own = {
        IN_MODEL: ours(given, narrow),
        ALONE: ours(given, narrow, {key: x.astype(dtype) for key, x in true.items()}),
    }
    theirs = {IN_MODEL: model.run(ids, note=note), ALONE: model.run(ids, true=true, note=note)}
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

