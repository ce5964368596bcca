"""Where PyTorch's tensors live beside the arrays of a backend."""


def torch_device(backend):
    """Choose a device.

    Parameters
    ----------
    backend : {"numpy", "cupy"}
        The library that runs the reference.

    Returns
    -------
    str
        ``"cuda"`` beside CuPy where PyTorch can use the GPU, else ``"cpu"``.
    """
    import torch

    return "cuda" if backend == "cupy" and torch.cuda.is_available() else "cpu"
