"""How memory, work and time of attention grow with the length: all scores at once, in tiles, in bands."""

import time

import numpy as np

from compare.interpretations import cost
from compare.measure.memory import peak_bytes
from compare.measure.subject import Subject
from compare.measure.threads import limited_threads
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.sparse.longformer import GLOBAL, LOCAL, longformer_attention
from refimpl.attention.sparse.sliding_window import sliding_window_attention, sliding_window_mask
from refimpl.attention.tiled.attention import tiled_attention

LENGTHS = (256, 512, 1024, 2048)
N_HEAD, D_HEAD, WINDOW, REACH = 2, 32, 65, 32
N_REPEAT = 2


def heads(n_seq):
    """Shapes of queries, keys and values."""
    return [(1, N_HEAD, n_seq, D_HEAD)] * 3


def sequence(n_seq):
    """Shapes of a sequence and of the projections that every Longformer layer has."""
    d_model = N_HEAD * D_HEAD
    return [(1, n_seq, d_model), *[(d_model, d_model)] * len(LOCAL + GLOBAL)]


def all_scores(q, k, v):
    return attention(q, k, v, mask=causal_mask(q.shape[-2], k.shape[-2], like=q))


def tiles(q, k, v):
    return tiled_attention(q, k, v, causal=True)


def masked_window(q, k, v):
    return attention(q, k, v, mask=sliding_window_mask(q.shape[-2], k.shape[-2], window=WINDOW, like=q))


def window(q, k, v):
    return sliding_window_attention(q, k, v, window=WINDOW)


def longformer_of_reach(reach):
    """Make a Longformer layer without global tokens, for a sequence and its projections."""

    def run(x, *weights):
        ids = (x[:, :0, 0] > 0.0).astype(np.int64)  # no global token, in the library of x
        params = {f"{name}.weight": weight for name, weight in zip(LOCAL + GLOBAL, weights, strict=True)}
        return longformer_attention(x, ids, params, n_head=N_HEAD, reach=x.shape[1] if reach is None else reach)

    return run


def both_ways(run, arrays):
    """Forward and backward; everything is kept."""
    y, pullback = run(*arrays)
    return y, pullback(y)


def draw(shapes, seed):
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


def measured_bytes(run, shapes, seed):
    subject = Subject("reference", lambda: draw(shapes, seed), lambda arrays: both_ways(run, arrays), "numpy")
    return peak_bytes(subject).peak_bytes


def analytic(run, shapes):
    """Bytes at the peak, and floating operations, of shape-only arrays."""
    arrays = [cost.empty(shape, "float32") for shape in shapes]
    with cost.tracking() as tracker:
        kept = both_ways(run, arrays)
    del kept  # only now: outputs and gradients are part of the peak
    return tracker.peak_bytes, tracker.flops


def seconds(run, shapes, seed):
    """Time forward and backward on one thread: the quicker of a few runs."""
    arrays, found = draw(shapes, seed), []
    with limited_threads(1):
        for _ in range(N_REPEAT):
            start = time.perf_counter()
            both_ways(run, arrays)
            found.append(time.perf_counter() - start)
    return min(found)


def scaling(title, text, contenders, shapes_of, seed):
    """Measure contenders at growing lengths, as the report keeps it."""
    figures = {}
    for name, run in contenders.items():
        by_length = [analytic(run, shapes_of(n)) for n in LENGTHS]
        figures[name] = {
            "measured": [measured_bytes(run, shapes_of(n), seed) for n in LENGTHS],
            "analytic": [peak for peak, _ in by_length],
            "flops": [flops for _, flops in by_length],
            "seconds": [seconds(run, shapes_of(n), seed) for n in LENGTHS],
        }
    memory = {
        f"{name}, {kind}": [peak / 2**20 for peak in found[kind]]
        for name, found in figures.items() for kind in ("measured", "analytic")
    }  # fmt: skip
    panels = [("Peak memory", "MiB", memory)]
    for heading, label, kind in (("Work", "floating operations", "flops"), ("Time", "seconds, one thread", "seconds")):
        panels.append((heading, label, {name: found[kind] for name, found in figures.items()}))
    return {
        "title": title,
        "text": f"{text} Forward and backward, {N_HEAD} heads of {D_HEAD}, float32. The analytic peak is that of "
        "shape-only arrays; every doubling of the length doubles what is linear and quadruples what is quadratic.",
        "panels": [
            {
                "title": heading, "x_label": "length", "y_label": label, "x": list(LENGTHS), "lines": lines,
                "x_scale": "log", "y_scale": "log",
            }
            for heading, label, lines in panels
        ],
    }  # fmt: skip


def tiled_study(seed):
    """Show that the memory of attention in tiles is linear, and its work still quadratic."""
    text = "Causal attention with all scores at once, and in tiles of 128."
    return scaling("Attention in tiles", text, {"all scores": all_scores, "tiles": tiles}, heads, seed)


def window_study(seed):
    """Show that memory and work of a sliding window are linear."""
    text = f"A sliding window of {WINDOW}, as a mask on all scores, and in blocks."
    return scaling("Sliding window", text, {"masked": masked_window, "blocks": window}, heads, seed)


def longformer_study(seed):
    """Show that memory and work of Longformer's attention are linear."""
    contenders = {"reach = length": longformer_of_reach(None), f"reach {REACH}": longformer_of_reach(REACH)}
    text = f"Longformer's attention that reaches everywhere, and {REACH} to each side."
    return scaling("Longformer attention", text, contenders, sequence, seed)
