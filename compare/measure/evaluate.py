"""Run one implementation forward and backward on given inputs, and watch how it behaves."""

import time
from dataclasses import dataclass, field

import numpy as np

from compare.cases.case import Inputs
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
    """Run an implementation as its users would, several times, and see that nothing but the results comes out.

    It first sees other inputs, so that what it keeps from one call to the next shows; then the inputs, twice, and
    the cotangents and their opposites, whose gradients are each other's opposites to the last bit.

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
    opposite = [peer.lift(-d, dtype) for d in cotangents]
    flipped = map_arrays(_flipped, inputs.args)
    others, _ = lift_all(peer, Inputs(flipped, inputs.masks), dtype)
    start = time.perf_counter()
    earlier, _ = peer.run(others, masks, settings)
    earlier_before = _lower(peer, earlier)
    y, pullback = peer.run(args, masks, settings)
    packed, packed_opposite = (tuple(dy), tuple(opposite)) if isinstance(y, tuple) else (dy[0], opposite[0])
    gradients = pullback(packed)
    first = _lower(peer, (y, gradients))
    again = map_arrays(lambda x: -x, _lower(peer, pullback(packed_opposite)))
    second = (_lower(peer, peer.run(args, masks, settings)[0]), again)
    seconds = time.perf_counter() - start
    # PyTorch's autograd hands a cotangent on where nothing happens to it, as through an addition.
    given = (args, masks) if peer.library == "torch" else (args, masks, dy)
    misbehaviour = (
        _mutated(peer, (inputs.args, dict(inputs.masks), cotangents, flipped), (args, masks, dy, others))
        or _surplus(case, first, inputs.args)
        or (_differ(earlier_before, _lower(peer, earlier)) and "overwrote what it had returned before")
        or (_differ(first, second) and "gave another result when called a second time")
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


def _flipped(x):
    """Give other values of the same kind: floats in the opposite order."""
    return np.flip(x) if is_differentiable(x) else x


def _mutated(peer, given, lifted):
    for host, device in zip(leaves(given), leaves(lifted), strict=True):
        after = peer.lower(device)
        if not _equal(host.astype(after.dtype), after):
            return "changed one of its inputs"
    return ""


def _surplus(case, result, args):
    y, gradients = result
    structures = [arg for arg in args if isinstance(arg, dict) or (arg is not None and is_differentiable(arg))]
    unknown = [
        key
        for gradient, arg in zip(gradients, structures, strict=False)
        if isinstance(gradient, dict) and isinstance(arg, dict)
        for key in gradient.keys() - arg.keys()
    ]
    if len(leaves(y)) > len(case.outputs):
        return f"returned {len(leaves(y))} outputs instead of {len(case.outputs)}"
    if len(gradients) > len(structures):
        return f"returned {len(gradients)} gradients instead of {len(structures)}"
    return f"returned the gradient of {', '.join(sorted(unknown))}, which is no parameter" if unknown else ""


def _differ(first, second):
    first, second = leaves(first), leaves(second)
    return len(first) != len(second) or not all(_equal(a, b) for a, b in zip(first, second, strict=True))


def _equal(a, b):
    # Most arrays hold no NaN, and looking for one takes longer than comparing.
    return np.array_equal(a, b) or (is_differentiable(a) and np.array_equal(a, b, equal_nan=True))


def _aliases(peer, given, returned):
    returned = leaves(returned)
    for result in returned:
        for x in leaves(given):
            if 0 not in result.shape and peer.overlap(result, x):
                return "returned memory that belongs to one of its inputs"
    return ""
