"""Why attention replaced recurrence: reach of gradients, chains of operations, and time, against distance and length.

Everything is computed by the reference's own forwards and pullbacks.
"""

import time

import numpy as np

from compare.interpretations.chain import Chain
from compare.measure.threads import limited_threads
from compare.peers.tree import leaves, map_arrays
from refimpl.arrays import array_namespace, scope
from refimpl.attention.multi_head import self_attention
from refimpl.recurrent.gru import gru
from refimpl.recurrent.lstm import lstm
from refimpl.recurrent.rnn import rnn

NETWORKS = ("rnn", "lstm", "gru", "attention")
N_GATE = {"rnn": 1, "lstm": 4, "gru": 3}
N_DISTANCE, D_MODEL, N_HEAD, N_BATCH = 64, 32, 4, 4
CHAIN_LENGTHS = (4, 8, 16, 32, 64)
TIME_LENGTHS = (16, 32, 64, 128, 256)
N_REPEAT = 3


def shapes(d_model):
    """Shapes of the parameters of all four networks, from d_model to d_model."""
    found = {}
    for kind, n_gate in N_GATE.items():
        for which in ("ih", "hh"):
            found[f"{kind}.weight_{which}_l0"] = (n_gate * d_model, d_model)
            found[f"{kind}.bias_{which}_l0"] = (n_gate * d_model,)
    attention = {"in_proj_weight": (3 * d_model, d_model), "out_proj.weight": (d_model, d_model)}
    biases = {"in_proj_bias": (3 * d_model,), "out_proj.bias": (d_model,)}
    return found | {f"attention.{key}": shape for key, shape in (attention | biases).items()}


def run(network, x, params):
    """Run one of the networks; its outputs, and the gradient of x for gradients of them."""
    own = scope(params, f"{network}.")
    if network == "attention":
        y, pullback = self_attention(x, own, n_head=N_HEAD)
        return y, lambda dy: pullback(dy)[0]
    runs = {"rnn": (rnn, 1), "lstm": (lstm, 2), "gru": (gru, 1)}
    function, n_state = runs[network]
    (y, *lasts), pullback = function(x, *(None,) * n_state, own)
    zeros = [array_namespace(last).zeros_like(last) for last in lasts]
    return y, lambda dy: pullback((dy, *zeros))[0]


def fresh_params(generator, d_model):
    """Draw parameters as PyTorch does when it makes these modules: uniform within 1 / sqrt(d_model)."""
    bound = d_model**-0.5
    return {key: generator.uniform(-bound, bound, shape) for key, shape in shapes(d_model).items()}


def reach(network, seed):
    """Frobenius norm of d(output at the end) / d(input k positions before), for every k."""
    generator = np.random.default_rng(seed)
    params = fresh_params(generator, D_MODEL)
    x = generator.standard_normal((1, N_DISTANCE + 1, D_MODEL))
    # Copies of one sequence: each asks for the gradient of another element of the output.
    y, dx_of = run(network, np.repeat(x, D_MODEL, axis=0), params)
    dy = np.zeros(y.shape)
    dy[:, -1] = np.eye(D_MODEL)
    return np.sqrt(np.sum(dx_of(dy) ** 2, axis=(0, 2)))[::-1].tolist()


def chain(network, n_seq, seed):
    """Count the most operations, forward and backward, each of which needs the one before."""
    generator = np.random.default_rng(seed)
    params = map_arrays(Chain, fresh_params(generator, D_MODEL))
    y, dx_of = run(network, Chain(generator.standard_normal((1, n_seq, D_MODEL))), params)
    return max(part.length for part in leaves((y, dx_of(y))))


def seconds(network, n_seq, seed):
    """Time forward and backward on one thread: the quickest of a few runs."""
    generator = np.random.default_rng(seed)
    params = map_arrays(lambda x: x.astype(np.float32), fresh_params(generator, D_MODEL))
    x = generator.standard_normal((N_BATCH, n_seq, D_MODEL)).astype(np.float32)
    found = []
    with limited_threads(1):
        for _ in range(N_REPEAT):
            start = time.perf_counter()
            y, dx_of = run(network, x, params)
            dx_of(y)
            found.append(time.perf_counter() - start)
    return min(found)


def panel(title, x_label, y_label, x, lines, x_scale="log"):
    return {
        "title": title, "x_label": x_label, "y_label": y_label, "x": list(x), "lines": lines, "x_scale": x_scale,
        "y_scale": "log",
    }  # fmt: skip


def study(seed):
    """Measure all of it, as the report keeps it."""
    return {
        "title": "Why attention replaced recurrence",
        "text": "Left: how much the input k positions back still moves the output; recurrence forgets exponentially, "
        "attention does not. Middle: the operations of forward and backward that must wait for each other; with "
        "recurrence they grow with the length, so that no machine can make up for them. Right: the time of both, "
        "where attention's own cost, which grows with the square of the length, is still small.",
        "panels": [
            panel(
                "Reach of gradients", "distance k", "|d output(t) / d input(t − k)|", range(N_DISTANCE + 1),
                {network: reach(network, seed) for network in NETWORKS}, "linear",
            ),
            panel(
                "Operations one after the other", "length", "longest chain", CHAIN_LENGTHS,
                {network: [chain(network, n, seed) for n in CHAIN_LENGTHS] for network in NETWORKS},
            ),
            panel(
                "Time", "length", "seconds, one thread", TIME_LENGTHS,
                {network: [seconds(network, n, seed) for n in TIME_LENGTHS] for network in NETWORKS},
            ),
        ],
    }  # fmt: skip
