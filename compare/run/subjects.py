"""Forward and backward of one implementation, as the instruments of memory and time want it."""

import numpy as np

from compare.measure.subject import Subject
from compare.measure.truth import DTYPES, draw_inputs
from compare.peers.arrays import ArrayPeer, lift_all
from compare.peers.tree import leaves, map_arrays
from compare.run.device import torch_device


def make_subjects(case, config, dtype, names, backend, seed):
    """Prepare implementations on the inputs of a configuration.

    Parameters
    ----------
    case : Case
        The case.
    config : Config
        The configuration.
    dtype : str
        The dtype.
    names : sequence of str
        ``"reference"``, or peers of the case.
    backend : {"numpy", "cupy"}
        The library that runs the reference.
    seed : int
        The run's seed.

    Returns
    -------
    tuple of Subject
        The step of each runs forward and backward once.
    """
    inputs, generator = draw_inputs(case, config, dtype, seed)
    cotangents = _cotangents(case, config, inputs, generator)
    return tuple(_subject(case, config, dtype, name, backend, inputs, cotangents) for name in names)


def _subject(case, config, dtype, name, backend, inputs, cotangents):
    if name == "reference":
        peer, step, copy = ArrayPeer(case.reference, backend), _run_reference, lambda x: x.copy()
    else:
        from compare.peers.torch_peer import TorchPeer

        peer, step = TorchPeer(case.peers[name], torch_device(backend)), _run_torch
        copy = lambda x: x.detach().clone().requires_grad_(x.requires_grad)  # noqa: E731
    args, masks = lift_all(peer, inputs, DTYPES[dtype])
    dy = [peer.lift(d, DTYPES[dtype]) for d in cotangents]
    return Subject(
        name,
        lambda: map_arrays(copy, (args, masks, dy)),
        lambda given: step(peer.function, *given, config.settings),
        peer.library,
    )


def count_cost(case, config, dtype, seed):
    """Count what forward and backward of the reference must do.

    Parameters
    ----------
    case : Case
        The case.
    config : Config
        The configuration.
    dtype : str
        The dtype.
    seed : int
        The run's seed.

    Returns
    -------
    dict
        ``flops``; ``bytes``, those of inputs read once and outputs written once, which no implementation
        avoids; ``peak_bytes``, the analytic peak.
    """
    from compare.interpretations import cost

    inputs, _ = draw_inputs(case, config, dtype, seed)
    given = _shaped(inputs, DTYPES[dtype])
    with cost.tracking() as tracker:
        y, pullback = case.reference(*given[0], **given[1], **config.settings)
        dy = map_arrays(lambda x: cost.empty(x.shape, x.dtype), y)
        gradients = pullback(dy)
    moved = sum(x.nbytes for x in leaves((*given, dy, y, gradients)))
    # The cotangents are inputs, and the baseline of the instruments contains them.
    peak_bytes = tracker.peak_bytes - sum(x.nbytes for x in leaves(dy))
    return {"flops": tracker.flops, "bytes": moved, "peak_bytes": peak_bytes}


def _cotangents(case, config, inputs, generator):
    if case.cotangents is not None:
        outputs = leaves(case.reference(*inputs.args, **inputs.masks, **config.settings)[0])
        return case.cotangents(generator, outputs)
    args, masks = _shaped(inputs, np.dtype(np.float64))
    y, _ = case.reference(*args, **masks, **config.settings)
    return [generator.standard_normal(x.shape) for x in leaves(y)]


def _shaped(inputs, dtype):
    """Forget the values of the arguments: a run on what is left costs nothing."""
    from compare.interpretations import cost

    def forget(x):
        return cost.empty(x.shape, x.dtype if x.dtype.kind in "iub" else dtype)

    return map_arrays(forget, inputs.args), map_arrays(forget, dict(inputs.masks))


def _run_reference(function, args, masks, dy, settings):
    y, pullback = function(*args, **masks, **settings)
    return y, pullback(tuple(dy) if isinstance(y, tuple) else dy[0])


def _run_torch(function, args, masks, dy, settings):
    import torch

    y = leaves(function(*args, **masks, **settings))
    wanted = [x for x in leaves(args) if x.requires_grad]
    # The graph is not kept: that is how training runs, and keeping it would count against PyTorch.
    gradients = torch.autograd.grad(y, wanted, [d.detach() for d in dy], materialize_grads=True)
    return [x.detach() for x in y], gradients
