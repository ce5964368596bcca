"""The memory of a step of BERT base and of the base Transformer: measured, beside the analytic one."""

import numpy as np

from compare.costs.published import PUBLISHED
from compare.costs.table import cost_of
from compare.measure.memory import peak_bytes
from compare.measure.subject import Subject

MODELS = ("bert-base", "transformer-base")


def measured_memory(name, n_seq):
    """Measure the peak of one step, forward and pullback, of our text.

    Parameters
    ----------
    name : str
        A key of `compare.costs.published.PUBLISHED`.
    n_seq : int
        How many tokens.

    Returns
    -------
    dict
        ``"measured"`` and ``"analytic"``, bytes above parameters and inputs, and the ``"instrument"``.
    """
    model = PUBLISHED[name]
    generator = np.random.default_rng(0)
    params = {row.ours: 0.02 * generator.standard_normal(row.our_shape, dtype=np.float32) for row in model.rows}
    shapes = [(x.shape, x.dtype) for x in model.inputs(1, n_seq, "float32")]
    kinds = (lambda shape: generator.integers(0, 2, shape), lambda shape: generator.standard_normal(shape))
    inputs = tuple(kinds[dtype.kind == "f"](shape).astype(dtype) for shape, dtype in shapes)

    def step(given):
        y, pullback = model.text(*given, params, config=model.config)
        gradients = pullback(tuple(map(np.ones_like, y)) if isinstance(y, tuple) else np.ones_like(y))
        return y, gradients

    found = peak_bytes(Subject(model.title, lambda: tuple(x.copy() for x in inputs), step, "numpy"))
    analytic = cost_of(name, n_seq=n_seq).peak_bytes
    return {
        "model": name, "n_seq": n_seq, "measured": found.peak_bytes, "analytic": analytic,
        "instrument": found.instrument,
    }  # fmt: skip
