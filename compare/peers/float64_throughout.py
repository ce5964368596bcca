"""Run models of `transformers` in float64 all the way: where they fix float32, in float64 they take float64."""

from contextlib import nullcontext

import torch
from torch.overrides import TorchFunctionMode


class Float64Throughout(TorchFunctionMode):
    """While it is active, whatever asks PyTorch for float32 gets float64.

    Llama, Mixtral and others take norms, angles, routers and softmaxes in float32 whatever comes in: better than
    bfloat16, but no float64, in which they are to be compared to the last digit.
    """

    def __torch_function__(self, function, types, args=(), kwargs=None):
        """Call the function with one dtype for the other."""
        if function is torch.Tensor.float:
            return args[0].double()
        keywords = {name: _wide(value) for name, value in (kwargs or {}).items()}
        return function(*map(_wide, args), **keywords)


def _wide(value):
    return torch.float64 if value is torch.float32 else value


def throughout(dtype):
    """Run what follows in float64 all the way if that is its dtype, and else as it is.

    Parameters
    ----------
    dtype : torch.dtype
        Of the weights or of the input.

    Returns
    -------
    context manager
        For a ``with``.
    """
    return Float64Throughout() if dtype is torch.float64 else nullcontext()
