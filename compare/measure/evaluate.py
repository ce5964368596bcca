"""Run one implementation forward and backward on given inputs, and watch how it behaves."""

import time
from dataclasses import dataclass, field

import numpy as np

from compare.peers.arrays import lift_all
from compare.peers.tree import is_differentiable, leaves, map_arrays, named_arguments


@dataclass
class Evaluation:
    """What an implementation returned.

    Attributes
    ----------
    outputs : dict of (str, numpy.ndarray)
        By output name.
    gradients : dict of (str, numpy.ndarray)
        By argument name.
    misbehaviour : str
        Empty, or what it did that no implementation may do.
    seconds : float
        Time spent in its code.
    """

    outputs: dict = field(default_factory=dict)
    gradients: dict = field(default_factory=dict)
    misbehaviour: str = ""
    seconds: float = 0.0


def evaluate(peer, case, inputs, settings, dtype, cotangents, names):
    """Run an implementation as its users would, twice, and see that nothing but the results comes out.

    Parameters
    ----------
    peer : ArrayPeer or TorchPeer
        The implementation.
    case : Case
        Names the outputs.
    inputs : Inputs
        Host arrays, exact in `dtype`.
    settings : dict
        Keyword settings.
    dtype : dtype
        The dtype of floats.
    cotangents : list of numpy.ndarray
        One for every output.
    names : list of str
        The names of the positional arguments.

    Returns
    -------
    Evaluation
        Results and behaviour.
    """
    args, masks = lift_all(peer, inputs, dtype)
    dy = [peer.lift(d, dtype) for d in cotangents]
    start = time.perf_counter()
    y, pullback = peer.run(args, masks, settings)
    packed = tuple(dy) if isinstance(y, tuple) else dy[0]
    gradients = pullback(packed)
    first = _lower(peer, (y, gradients))
    again = pullback(packed)
    second = _lower(peer, (peer.run(args, masks, settings)[0], again))
    seconds = time.perf_counter() - start
    # PyTorch's autograd hands a cotangent on where nothing happens to it, as through an addition.
    given = (args, masks) if peer.library == "torch" else (args, masks, dy)
    misbehaviour = (
        _mutated(peer, inputs, (args, masks))
        or _differs(first, second)
        or _aliases(peer, given, (y, gradients))
    )
    outputs = dict(zip(case.outputs, leaves(first[0]), strict=False))
    named = dict(zip(named_arguments(names, inputs.args), _ordered(first[1], inputs.args), strict=False))
    return Evaluation(outputs, named, misbehaviour, seconds)


def _ordered(gradients, args):
    """Flatten gradients in the order of the arguments' own keys."""
    flat = []
    structures = [arg for arg in args if isinstance(arg, dict) or (arg is not None and is_differentiable(arg))]
    for gradient, arg in zip(gradients, structures, strict=False):
        flat += [gradient.get(key) for key in arg] if isinstance(arg, dict) else [gradient]
    return flat


def _lower(peer, tree):
    # A copy: torch and NumPy would otherwise share memory, and a stale buffer could change under our eyes.
    return map_arrays(lambda x: np.array(peer.lower(x)), tree)


def _mutated(peer, inputs, lifted):
    before = leaves((inputs.args, dict(inputs.masks)))
    for host, device in zip(before, leaves(lifted), strict=True):
        after = peer.lower(device)
        if not np.array_equal(host.astype(after.dtype), after, equal_nan=is_differentiable(host)):
            return "changed one of its inputs"
    return ""


def _differs(first, second):
    for a, b in zip(leaves(first), leaves(second), strict=True):
        if a.shape != b.shape or a.tobytes() != b.tobytes():
            return "gave another result when called a second time"
    return ""


def _aliases(peer, given, returned):
    returned = leaves(returned)
    for result in returned:
        for x in leaves(given):
            if 0 not in result.shape and peer.overlap(result, x):
                return "returned memory that belongs to one of its inputs"
    return ""
