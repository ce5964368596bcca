"""Judge one configuration in one dtype: the rows it adds to the report."""

import time

import numpy as np

from compare.interpretations.policy import erf_by_polynomial, sums_kept_in_storage
from compare.measure.evaluate import evaluate
from compare.measure.message import message
from compare.measure.truth import DTYPES, along, find_truth
from compare.peers.arrays import ArrayPeer
from compare.run.catalogue import peers_of, printable
from compare.run.device import torch_device
from compare.run.limits import is_out_of_memory
from compare.run.repeat import repeat_command
from compare.verdict.spread_rule import judge


def judge_config(
    case, config, dtype, *, peers=None, backend="numpy", seed=0, what=("outputs", "gradients"), plugins=()
):
    """Compare the reference and its peers with the truth.

    Parameters
    ----------
    case : Case
        The case.
    config : Config
        The configuration.
    dtype : str
        The dtype.
    peers : list of str, optional
        Which peers; by default all that apply.
    backend : {"numpy", "cupy"}, optional
        The library that runs the reference.
    seed : int, optional
        The run's seed.
    what : sequence of {"outputs", "gradients"}, optional
        Which tensors count.
    plugins : sequence of str, optional
        The modules that add cases, for the command that repeats a row.

    Returns
    -------
    list of dict
        One row of the report for each peer.
    """
    if not config.judged:
        return _unjudged(case, config, dtype, peers, backend, seed, plugins)
    start = time.perf_counter()
    truth = find_truth(case, config, dtype, seed)
    reference = _only(what, _judged(ArrayPeer(case.reference, backend), case, config, dtype, truth))
    known = peers_of(case.peers_here(), case.oracles, config, dtype)
    names = [name for name in known if peers is None or name in peers]
    shared = (time.perf_counter() - start) / max(len(names), 1)
    shared_measured = (reference["seconds"] + truth.seconds) / max(len(names), 1)
    rows = []
    for name in names:
        start = time.perf_counter()
        policy, declared = _policy(case, name, dtype)
        own_truth = find_truth(case, config, dtype, seed, declared=declared) if declared else truth
        peer = _only(what, _judge_peer(name, case, config, dtype, own_truth, seed, backend))
        own_seconds = own_truth.seconds if declared else 0.0
        total = time.perf_counter() - start + shared
        measured = peer["seconds"] + own_seconds + shared_measured
        seconds = {"total": total, "measured": measured}
        repeat = repeat_command(case.name, config.name, dtype, name, backend, seed, plugins)
        rows.append(_row(case, config, dtype, backend, name, reference, peer, policy, repeat, seconds))
    return rows


def _unjudged(case, config, dtype, peers, backend, seed, plugins):
    """Rows that wait for memory and throughput; the timed results are checked against themselves."""
    nothing = {"outputs": {}, "gradients": {}, "error": ""}
    policy, seconds = "memory and throughput only", {"total": 0.0, "measured": 0.0}
    rows = []
    for name in [name for name in case.peers_here() if peers is None or name in peers]:
        repeat = repeat_command(case.name, config.name, dtype, name, backend, seed, plugins)
        rows.append(_row(case, config, dtype, backend, name, nothing, nothing, policy, repeat, seconds))
    return rows


def _policy(case, name, dtype):
    """Say in words what a peer's kernels may round, and how it is declared where it is out of the ordinary."""
    if dtype in ("float16", "bfloat16") and name in case.sums_in_storage:
        return f"sums and statistics kept in {dtype}", sums_kept_in_storage
    if dtype == "float32" and name in case.coarse_erf:
        return "sums kept in float32, erf by a polynomial", erf_by_polynomial
    return f"sums kept in {'float64' if dtype == 'float64' else 'float32'}", None


def judge_function(function, case, config, dtype, *, truth=None, seed=0):
    """Judge a function of the reference's signature, such as a planted bug.

    Parameters
    ----------
    function : callable
        ``function(*args, **masks, **settings) -> (y, pullback)`` on NumPy arrays.
    case : Case
        The case whose truth it is held against.
    config : Config
        The configuration.
    dtype : str
        The dtype.
    truth : Truth, optional
        That of the configuration in this dtype, where it is known already.
    seed : int, optional
        The run's seed.

    Returns
    -------
    verdict : str
        ``"PASS"``, ``"FAIL"`` or ``"ERROR"``.
    reason : str
        Why it did not pass.
    """
    truth = truth or find_truth(case, config, dtype, seed)
    return _verdict({"this": _judged(ArrayPeer(function), case, config, dtype, truth)})


def _judge_peer(name, case, config, dtype, truth, seed, backend):
    try:
        if name == "autograd":
            return _judge_autograd(case, config, truth)
        if name == "complex_step":
            return _judge_complex_step(case, config, truth, seed)
    except Exception as error:
        return _raised(error)
    from compare.peers.torch_peer import TorchPeer  # PyTorch takes two seconds to import

    return _judged(TorchPeer(case.peers[name], torch_device(backend)), case, config, dtype, truth)


def _raised(error):
    if is_out_of_memory(error):
        raise error  # what comes after it would run in the memory that is left: this unit is over
    return {"outputs": {}, "gradients": {}, "error": message(error), "seconds": 0.0}


def _only(what, judged):
    return judged | {kind: {} for kind in ("outputs", "gradients") if kind not in what}


def _judged(peer, case, config, dtype, truth):
    try:
        found = evaluate(
            peer, case, truth.inputs, config.settings, DTYPES[dtype], truth.cotangents, truth.names
        )
    except Exception as error:
        return _raised(error)
    return {
        "outputs": _figures(found.outputs, truth.outputs, truth),
        "gradients": _figures(found.gradients, truth.gradients, truth),
        "error": "",
        "misbehaviour": found.misbehaviour,
        "seconds": found.seconds,
    }


def _figures(found, expected, truth):
    return {
        name: judge(found.get(name), tensor, rounded_truth=truth.rounded, softened=truth.softened)
        for name, tensor in expected.items()
    }


def _judge_autograd(case, config, truth):
    from compare.peers.autograd_peer import autograd_gradients

    start = time.perf_counter()
    found = autograd_gradients(
        case.reference,
        truth.inputs.args,
        truth.inputs.masks,
        config.settings,
        truth.cotangents,
        extended=not truth.rounded,
    )
    seconds = time.perf_counter() - start
    gradients = _figures(dict(zip(truth.gradients, found, strict=True)), truth.gradients, truth)
    return {"outputs": {}, "gradients": gradients, "error": "", "seconds": seconds}


def _judge_complex_step(case, config, truth, seed):
    from compare.peers.complex_step import complex_step_products

    start = time.perf_counter()
    generator = np.random.default_rng([seed, 1])
    found = complex_step_products(
        case.reference, truth.inputs.args, truth.inputs.masks, config.settings, truth.cotangents, generator
    )
    seconds = time.perf_counter() - start
    gradients = {}
    for name, (directions, products) in zip(truth.gradients, found, strict=True):
        # The tangents of the forward run round like the pullback does: two rounded sides.
        gradients[name] = judge(products, along(truth, name, directions), rounded_truth=True)
    return {"outputs": {}, "gradients": gradients, "error": "", "seconds": seconds}


def _verdict(sides):
    for side, judged in sides.items():
        if judged["error"]:
            return "ERROR", f"{side} raised {judged['error']}"
    for side, judged in sides.items():
        if judged.get("misbehaviour"):
            return "FAIL", f"{side} {judged['misbehaviour']}"
        for kind in ("outputs", "gradients"):
            for name, figure in judged[kind].items():
                if not figure["passed"]:
                    what = f"gradient of {name}" if kind == "gradients" else f"output {name}"
                    return "FAIL", f"{side}, {what}: {figure['reason']}"
    return "PASS", ""


def _row(case, config, dtype, backend, name, reference, peer, policy, repeat, seconds):
    verdict, reason = _verdict({"reference": reference, name: peer})
    return {
        "case": case.name,
        "section": case.section,
        "title": case.title,
        "config": {"name": config.name, "sizes": printable(config.sizes), "settings": printable(config.settings)},
        "dtype": dtype,
        "backend": backend,
        "peer": name,
        "policy": policy,
        "verdict": verdict,
        "reason": reason,
        "repeat": repeat,
        "outputs": {"reference": reference["outputs"], "peer": peer["outputs"]},
        "gradients": {"reference": reference["gradients"], "peer": peer["gradients"]},
        "memory": None,
        "throughput": None,
        "seconds": seconds,
    }
