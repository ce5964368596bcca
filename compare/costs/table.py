"""Run published models on shape-only arrays: parameters, FLOPs and memory, without allocating, and time by the roof."""

from dataclasses import dataclass

from compare.costs.published import PUBLISHED
from compare.interpretations import cost


@dataclass(frozen=True)
class Cost:
    """What one step of a model costs at one length.

    Attributes
    ----------
    model : str
        A key of `PUBLISHED`.
    n_batch, n_seq : int
        How many texts, of how many tokens each (an encoder–decoder reads and writes as many).
    n_param : int
        The number of parameters, counted in the gradients that the pullback returns.
    param_bytes : int
        Their size.
    forward_flops, step_flops : int
        Of the forward alone, and with the pullback.
    forward_transcendentals : int
        Values of exp, tanh and the like, which are no part of the FLOPs.
    kept_bytes : int
        What is alive after the forward: outputs, and what the pullback will read.
    peak_bytes : int
        The most that is alive at once in a step, gradients among it, parameters and inputs not.
    """

    model: str
    n_batch: int
    n_seq: int
    n_param: int
    param_bytes: int
    forward_flops: int
    step_flops: int
    forward_transcendentals: int
    kept_bytes: int
    peak_bytes: int

    def seconds(self, flops_per_s, bytes_per_s, *, step=False):
        """Bound the time from below: no machine under this roof is faster.

        Parameters
        ----------
        flops_per_s : float
            The rate of its matrix product.
        bytes_per_s : float
            The bandwidth of its memory.
        step : bool, optional
            Forward and pullback, not the forward alone.

        Returns
        -------
        float
            The longer of the times that the arithmetic takes, and that reading every parameter once takes (in a step
            twice, and writing its gradient).
        """
        flops = self.step_flops if step else self.forward_flops
        return max(flops / flops_per_s, (3 if step else 1) * self.param_bytes / bytes_per_s)


def cost_of(name, *, n_seq, n_batch=1, dtype="float32"):
    """Run one model at one length.

    Parameters
    ----------
    name : str
        A key of `PUBLISHED`.
    n_seq : int
        How many tokens each text has.
    n_batch : int, optional
        How many texts.
    dtype : str, optional
        Of parameters and activations.

    Returns
    -------
    Cost
        What it costs.

    Raises
    ------
    ValueError
        If the model does not read so long a text.
    """
    model = PUBLISHED[name]
    if n_seq > model.longest:
        raise ValueError(f"n_seq must be at most {model.longest} for {model.title}, got {n_seq}")
    params = model.params(dtype)
    inputs = model.inputs(n_batch, n_seq, dtype)
    with cost.tracking() as tracker:
        y, pullback = model.text(*inputs, params, config=model.config)
        forward = {"flops": tracker.flops, "transcendentals": tracker.transcendentals, "live": tracker.live_bytes}
        outputs = y if isinstance(y, tuple) else (y,)
        dy = tuple(cost.empty(each.shape, each.dtype) for each in outputs)
        gradients = pullback(dy if isinstance(y, tuple) else dy[0])
    dparams = gradients[-1]
    return Cost(
        model=name, n_batch=n_batch, n_seq=n_seq,
        n_param=cost.count(dparams), param_bytes=sum(x.nbytes for x in params.values()),
        forward_flops=forward["flops"], step_flops=tracker.flops, forward_transcendentals=forward["transcendentals"],
        kept_bytes=forward["live"], peak_bytes=tracker.peak_bytes,
    )  # fmt: skip


def costs_of(names, lengths, **settings):
    """Run several models at several lengths.

    Parameters
    ----------
    names : sequence of str
        Keys of `PUBLISHED`.
    lengths : sequence of int
        How many tokens; a model is left out where it does not read so many.
    **settings
        As for `cost_of`.

    Yields
    ------
    Cost
        One for each that is possible.
    """
    for name in names:
        for n_seq in lengths:
            if n_seq <= PUBLISHED[name].longest:
                yield cost_of(name, n_seq=n_seq, **settings)
