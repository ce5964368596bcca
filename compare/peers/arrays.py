"""Run a component (the reference, or a variant of the same signature) on NumPy or CuPy arrays."""

import numpy as np

from compare.peers.tree import map_arrays
from refimpl.arrays import Narrow, asarray


class ArrayPeer:
    """A function ``f(*args, **keywords) -> (y, pullback)`` on the arrays of one library.

    Parameters
    ----------
    function : callable
        The component or variant.
    backend : {"numpy", "cupy"}, optional
        The library whose arrays flow in.
    """

    def __init__(self, function, backend="numpy"):
        self.function = function
        self.backend = backend
        self.library = backend

    def lift(self, x, dtype):
        """Give a host array to the library.

        Parameters
        ----------
        x : numpy.ndarray
            Exact in `dtype` already; integers and booleans keep theirs.
        dtype : dtype
            The dtype of floats.

        Returns
        -------
        array
            A read-only array on NumPy.
        """
        lifted = asarray(x, dtype=x.dtype if x.dtype.kind in "iub" else np.dtype(dtype), backend_name=self.backend)
        if self.backend == "numpy":
            lifted = lifted.copy()
            lifted.flags.writeable = False
        return lifted

    def lower(self, x):
        """Bring a result back to the host, in its own dtype.

        Parameters
        ----------
        x : array
            A result.

        Returns
        -------
        numpy.ndarray
            The same numbers.
        """
        if self.backend == "cupy":
            return x.get()
        return x.view(np.ndarray) if isinstance(x, Narrow) else np.asarray(x)

    def run(self, args, masks, settings):
        """Call the function.

        Parameters
        ----------
        args : tuple
            Lifted positional arguments.
        masks : dict
            Lifted keyword arrays.
        settings : dict
            Keyword settings.

        Returns
        -------
        y : array or tuple of array
            The output.
        pullback : callable
            As the contract says.
        """
        return self.function(*args, **masks, **settings)

    def overlap(self, a, b):
        """Tell whether two arrays share memory.

        Parameters
        ----------
        a, b : array
            Arrays of this library.

        Returns
        -------
        bool
            True if writing into one could change the other.
        """
        if self.backend == "numpy":
            # As plain arrays: a function of 16-bit arrays acts on copies in float32.
            return np.shares_memory(np.asarray(a), np.asarray(b))
        return bool(a.data.ptr == b.data.ptr and a.size and b.size)


def lift_all(peer, inputs, dtype):
    """Lift everything a component is called with.

    Parameters
    ----------
    peer : ArrayPeer or TorchPeer
        Knows how to lift one array.
    inputs : Inputs
        Host arrays.
    dtype : dtype
        The dtype of floats.

    Returns
    -------
    args : tuple
        Lifted positional arguments.
    masks : dict
        Lifted keyword arrays.
    """
    return (
        map_arrays(lambda x: peer.lift(x, dtype), inputs.args),
        map_arrays(lambda x: peer.lift(x, dtype), dict(inputs.masks)),
    )
