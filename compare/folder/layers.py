"""Judge every layer twice: in the model, with the errors of those below it, and alone, on the true input."""

import time
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from compare.folder.ours import KINDS, reads_two, run_ours
from compare.folder.theirs import run_theirs
from compare.interpretations.policy import erf_by_polynomial
from compare.interpretations.spread import spread
from compare.measure.truth import rounded_to
from compare.peers.tree import map_arrays
from compare.verdict.spread_rule import judge
from refimpl.checkpoints.ledger import conventions

ALONE, IN_MODEL = "alone", "in the model"
# Tokens of a model that names no limit.
MOST = 2**31


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


def draw_inputs(model_type, config, *, n_batch=2, n_seq=12, seed=0):
    """Draw what a model reads.

    Parameters
    ----------
    model_type : str
        Its family.
    config : object
        Knows the vocabulary, and perhaps how many positions there are.
    n_batch, n_seq : int
        How many texts, of how many tokens.
    seed : int
        Of the generator.

    Returns
    -------
    dict of (str, numpy.ndarray)
        ``"token_ids"``; for an encoder–decoder also ``"target_ids"``, for CLIP ``"images"``.
    """
    generator = np.random.default_rng(seed)
    _, longest = positions(model_type, config)
    # Longformer of `transformers` pads to whole windows, and its layers read the padding too.
    window = 2 * max(getattr(config, "reaches", (0,))) or 1
    n_seq = min(-(-n_seq // window), longest // window) * window
    found = {"token_ids": _tokens(generator, config, (n_batch, n_seq))}
    if reads_two(model_type):
        found["target_ids"] = _tokens(generator, config, (n_batch, max(1, n_seq - 3)))
    if KINDS[model_type] == "clip":
        shape = (n_batch, config.n_channel, config.image_size, config.image_size)
        found = {"images": generator.standard_normal(shape).astype(np.float32).astype(np.float64), **found}
    return found


def positions(model_type, config, settings=None):
    """Find how long a text may be.

    Parameters
    ----------
    model_type : str
        Its family.
    config : object
        Knows perhaps how many positions there are.
    settings : dict, optional
        Those of config.json: a model with rotary positions has no table of them, and names their number only there.

    Returns
    -------
    n_position, longest : int
        How many positions there are, and how many of them are for tokens.
    """
    named = (settings or {}).get("max_position_embeddings")
    n_position = getattr(config, "n_position", named if isinstance(named, int) else MOST)
    # Where positions are counted from behind the padding token, so many rows of their table have no place.
    n_lost = config.pad_id + 1 if isinstance(conventions(model_type).position_offset, str) else 0
    return n_position, n_position - n_lost


def _tokens(generator, config, shape):
    # Padding is no text: it has no place in some families, and ends a text in others.
    ends = getattr(config, "eos_id", None)
    special = {getattr(config, "pad_id", None), *(ends if isinstance(ends, tuple) else (ends,))}
    allowed = [token for token in range(config.vocab_size) if token not in special] or [0]
    return generator.choice(np.array(allowed), shape)


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
    given = {key: x.astype(dtype) if x.dtype.kind == "f" else x for key, x in ids.items()}
    own = {
        IN_MODEL: run_ours(name, given, narrow, config, **who),
        ALONE: run_ours(name, given, narrow, config, true=_cast(true, dtype), **who),
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
