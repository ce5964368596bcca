"""The truth of one configuration and its tolerance, from one run of the reference on spread arrays."""

import inspect
import time
import zlib
from contextlib import nullcontext
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.cases.case import Inputs
from compare.interpretations import spread_words
from compare.interpretations.spread import Spread, counting_softened, spread
from compare.peers.tree import is_differentiable, leaves, map_arrays, named_arguments

DTYPES = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


@dataclass
class Truth:
    """What a legal implementation returns, and how far it may be off.

    Attributes
    ----------
    inputs : Inputs
        Host arrays, exact in the dtype.
    cotangents : list of numpy.ndarray
        One for every output, exact in the dtype.
    names : list of str
        The names of the positional arguments.
    outputs, gradients : dict of (str, Spread)
        By name.
    rounded : bool
        Whether the truth has the precision of the candidate itself.
    softened : int
        The number of elements whose tolerance was widened because rounding may flip a branch.
    seconds : float
        Time spent in the reference.
    """

    inputs: Inputs
    cotangents: list
    names: list
    outputs: dict
    gradients: dict
    rounded: bool
    softened: int
    seconds: float


def draw_inputs(case, config, dtype, seed):
    """Draw the inputs of one configuration, rounded to a dtype.

    Parameters
    ----------
    case : Case
        Draws them.
    config : Config
        The sizes.
    dtype : str
        The dtype that must hold them exactly.
    seed : int
        The run's seed; every configuration derives its own.

    Returns
    -------
    inputs : Inputs
        Host arrays in float64, exact in the dtype.
    generator : numpy.random.Generator
        The generator, for the cotangents.
    """
    generator = np.random.default_rng([seed, zlib.crc32(f"{case.name} {config.name}".encode())])
    drawn = case.inputs(generator, **config.sizes)
    args, masks = (map_arrays(lambda x: rounded_to(x, dtype), tree) for tree in (drawn.args, dict(drawn.masks)))
    return Inputs(args, masks), generator


def rounded_to(x, dtype):
    """Round floats to a dtype and come back to float64.

    Parameters
    ----------
    x : numpy.ndarray
        Any array; integers and booleans stay.
    dtype : str
        The dtype's name.

    Returns
    -------
    numpy.ndarray
        Exact in the dtype.
    """
    x = np.asarray(x)
    return x.astype(DTYPES[dtype]).astype(np.float64) if is_differentiable(x) else x


def positional_names(function):
    """Name the positional arguments of a component.

    Parameters
    ----------
    function : callable
        The component.

    Returns
    -------
    list of str
        The names, in order.
    """
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in inspect.signature(function).parameters.items() if parameter.kind in kinds]


def find_truth(case, config, dtype, seed, *, declared=nullcontext):
    """Run the reference on spread arrays, forward and pullback.

    Parameters
    ----------
    case : Case
        The case.
    config : Config
        The configuration.
    dtype : str
        The dtype of the implementations that will be judged.
    seed : int
        The run's seed.
    declared : callable, optional
        What is declared of the kernels that will be judged: `sums_kept_in_storage` or `erf_by_polynomial`.

    Returns
    -------
    Truth
        Values, tolerances, and what they belong to.
    """
    inputs, generator = draw_inputs(case, config, dtype, seed)
    extended = dtype == "float64" and case.extended_truth
    value_dtype = np.longdouble if extended else np.float64

    def lift(x):
        return spread(x, DTYPES[dtype], value_dtype=value_dtype)

    start = time.perf_counter()
    with counting_softened() as softened, declared():
        args, masks = (map_arrays(lift, tree) for tree in (inputs.args, inputs.masks))
        y, pullback = case.reference(*args, **masks, **config.settings)
        cotangents = _draw_cotangents(case, generator, leaves(y), dtype)
        lifted = [lift(d) for d in cotangents]
        gradients = pullback(tuple(lifted) if isinstance(y, tuple) else lifted[0])
    seconds = time.perf_counter() - start
    names = positional_names(case.reference)
    outputs = dict(zip(case.outputs, leaves(y), strict=True))
    return Truth(
        inputs=inputs,
        cotangents=cotangents,
        names=names,
        outputs=outputs,
        gradients=dict(zip(named_arguments(names, inputs.args), leaves(gradients), strict=True)),
        rounded=dtype == "float64" and not extended,
        softened=softened(),
        seconds=seconds,
    )


def _draw_cotangents(case, generator, outputs, dtype):
    drawn = (
        [generator.standard_normal(y.shape) for y in outputs]
        if case.cotangents is None
        else case.cotangents(generator, [np.asarray(y.value) for y in outputs])
    )
    return [rounded_to(d, dtype) for d in drawn]


def along(truth, name, directions):
    """Inner products of a gradient's truth with directions, with their tolerance.

    Parameters
    ----------
    truth : Truth
        Holds the gradient.
    name : str
        Which gradient.
    directions : numpy.ndarray, shape (n, *shape)
        The directions.

    Returns
    -------
    Spread, shape (n,)
        ``sum(gradient * direction)`` for each.
    """
    gradient = truth.gradients[name]
    flat = Spread(gradient.value.reshape(-1, 1), _column(gradient), gradient.dtype)
    rows = spread(directions.reshape(len(directions), -1), gradient.dtype, value_dtype=gradient.value.dtype)
    return spread_words.reshape(spread_words.matmul(rows, flat), (len(directions),))


def _column(gradient):
    return None if gradient.variance is None else gradient.variance.reshape(-1, 1)
