"""Run a function on PyTorch tensors, with derivatives by PyTorch's autograd."""

from functools import cache

import ml_dtypes
import numpy as np
import torch

from compare.peers.tree import leaves, map_arrays

TORCH_DTYPES = {
    np.dtype(np.float64): torch.float64,
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float16): torch.float16,
    np.dtype(ml_dtypes.bfloat16): torch.bfloat16,
}


class TorchPeer:
    """A function on tensors that returns y, given the interface of a component.

    Parameters
    ----------
    function : callable
        ``function(*args, **masks, **settings) -> y``.
    device : str, optional
        Where the tensors live.
    """

    library = "torch"

    def __init__(self, function, device="cpu"):
        self.function = function
        self.device = device

    def lift(self, x, dtype):
        """Make a tensor.

        Parameters
        ----------
        x : numpy.ndarray
            Exact in `dtype` already; integers and booleans keep theirs.
        dtype : dtype
            The dtype of floats.

        Returns
        -------
        torch.Tensor
            A leaf that asks for a gradient, if it is floating.
        """
        if x.dtype.kind in "iub":
            return torch.tensor(x, device=self.device)
        # Through float64: PyTorch does not read ml_dtypes arrays, and the values are exact in the dtype.
        tensor = torch.tensor(x.astype(np.float64), dtype=TORCH_DTYPES[np.dtype(dtype)], device=self.device)
        return tensor.requires_grad_()

    def lower(self, x):
        """Bring a result back to NumPy, in its own dtype.

        Parameters
        ----------
        x : torch.Tensor
            A result.

        Returns
        -------
        numpy.ndarray
            The same numbers.
        """
        x = x.detach().cpu()
        if x.dtype == torch.bfloat16:
            return x.float().numpy().astype(ml_dtypes.bfloat16)
        return x.numpy()

    def run(self, args, masks, settings):
        """Call the function, and make a pullback of its autograd graph.

        Parameters
        ----------
        args : tuple
            Tensors and dicts of tensors.
        masks : dict
            Keyword tensors.
        settings : dict
            Keyword settings.

        Returns
        -------
        y : torch.Tensor or tuple of torch.Tensor
            The output.
        pullback : callable
            Maps dy to gradients in the contract's order; an argument that y does not depend on has gradient 0.
        """
        y = self.function(*args, **masks, **settings)
        outputs = leaves(y)
        wanted = [x for x in leaves(args) if x.requires_grad]

        def pullback(dy):
            dys = [d.detach() for d in leaves(dy)]
            found = iter(torch.autograd.grad(outputs, wanted, dys, retain_graph=True, materialize_grads=True))
            gradients = [map_arrays(lambda x: next(found) if x.requires_grad else None, arg) for arg in args]
            return tuple(gradient for gradient in gradients if gradient is not None)

        return y, pullback

    def overlap(self, a, b):
        """Tell whether two tensors share memory.

        Parameters
        ----------
        a, b : torch.Tensor
            Tensors.

        Returns
        -------
        bool
            True if they have the same storage.
        """
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


@cache
def meta_module(module_class, *sizes, **settings):
    """Build a module without weights, to be called with `torch.func.functional_call`.

    Parameters
    ----------
    module_class : type
        Such as ``torch.nn.LayerNorm``.
    *sizes, **settings
        Hashable arguments of its constructor.

    Returns
    -------
    torch.nn.Module
        The module on the meta device, in evaluation mode: it holds no numbers, so none can leak in.
    """
    with torch.device("meta"):
        return module_class(*sizes, **settings).eval()


def call_module(module, params, *args, **keywords):
    """Call a module with our parameters instead of its own.

    Parameters
    ----------
    module : torch.nn.Module
        As `meta_module` gives it.
    params : dict of torch.Tensor
        Its state_dict.
    *args, **keywords
        Arguments of its forward.

    Returns
    -------
    object
        What the module returns.
    """
    return torch.func.functional_call(module, params, args, keywords, strict=True)
