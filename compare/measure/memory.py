"""Peak memory that a step requests, by the instrument that fits its library."""

import gc
import itertools
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compare.measure.nesting import leaves
from compare.measure.subject import Subject
from compare.measure.threads import limited_threads


@dataclass(frozen=True)
class MemoryFigure:
    """A number of bytes and how far to trust it.

    Attributes
    ----------
    peak_bytes : int
        The largest number of bytes alive at once.
    instrument : str
        What counted them.
    blind_spots : str
        What it cannot see, or sees and should not.
    """

    peak_bytes: int
    instrument: str
    blind_spots: str


def peak_bytes(subject: Subject) -> MemoryFigure:
    """Measure the peak of requested bytes above the baseline of one warm step.

    The inputs belong to the baseline and the outputs are kept alive, so the figure is outputs, gradients
    and whatever was alive beside them at the worst moment. One thread, garbage collector off.

    Parameters
    ----------
    subject : Subject
        The step to measure. It is called three times, each time on fresh inputs.

    Returns
    -------
    MemoryFigure
        Peak, instrument and blind spots.

    Raises
    ------
    ValueError
        When the library is unknown, or a torch step adds to gradients that an earlier call left: these
        were allocated before the baseline, so the figure would miss them.
    """
    instrument = _INSTRUMENTS.get(subject.library)
    if instrument is None:
        raise ValueError(f"library must be one of {sorted(_INSTRUMENTS)}, got {subject.library!r}")
    with limited_threads(1), _collector_off():
        for _ in range(2):  # the first call fills caches, the second shows that they stay filled
            subject.step(subject.fresh())
        gc.collect()
        return instrument(subject)


@contextmanager
def _collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _numpy_peak(subject: Subject) -> MemoryFigure:
    was_tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        inputs = subject.fresh()
        baseline, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        kept = subject.step(inputs)
        _, peak = tracemalloc.get_traced_memory()
        del kept
    finally:
        if not was_tracing:
            tracemalloc.stop()
    return MemoryFigure(
        peak - baseline, "tracemalloc",
        "misses work space that C code takes without telling Python (BLAS, FFT, SciPy; in NumPy 2.4 also "
        "buffers of sorting and casting); includes the few kilobytes of Python objects",
    )


def _torch_peak(subject: Subject) -> MemoryFigure:
    import torch

    inputs = subject.fresh()
    if any(getattr(leaf, "is_cuda", False) for _, leaf in leaves(inputs)):
        return _torch_cuda_peak(torch, subject, inputs)
    earlier = _live_gradients(torch)
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # or every profile writes two lines to stderr
    # The memory events come from torch's allocator; Kineto's device activities add nothing here.
    with torch.autograd.profiler.profile(profile_memory=True, use_kineto=False) as profiler:
        kept = subject.step(inputs)
    _refuse_accumulation(earlier)
    del kept
    events = profiler.kineto_results.events()
    in_order = sorted((e.start_ns(), i, e.nbytes()) for i, e in enumerate(events) if e.name() == "[memory]")
    running = itertools.accumulate(n_byte for _, _, n_byte in in_order)
    return MemoryFigure(
        max(running, default=0), "torch profiler",
        "misses what does not come from torch's own allocator: work space of oneDNN and MKL, NumPy arrays, "
        "Python objects",
    )


def _live_gradients(torch) -> list[tuple]:
    """Every gradient in this process, with the count of writes into it."""
    tensors = [t for t in gc.get_objects() if issubclass(type(t), torch.Tensor)]
    return [(t, t.grad, t.grad._version) for t in tensors if t.is_leaf and t.grad is not None]


def _refuse_accumulation(earlier: list[tuple]) -> None:
    for tensor, gradient, version in earlier:
        if gradient._version != version:
            raise ValueError(
                f"step must start without gradients, but it added to one of shape {tuple(tensor.shape)} "
                "left by an earlier call: set .grad to None in fresh()"
            )


def _torch_cuda_peak(torch, subject: Subject, inputs: object) -> MemoryFigure:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    baseline = torch.cuda.memory_allocated()
    kept = subject.step(inputs)
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - baseline
    del kept
    return MemoryFigure(
        peak, "torch.cuda.max_memory_allocated",
        "counts blocks rounded up to 512 bytes; misses what cuBLAS and cuDNN take from the driver",
    )


class RequestedBytes:
    """Count requested bytes through CuPy's memory hooks.

    CuPy reports a release by address only, so the requested sizes are remembered. A release of memory
    that was taken before the count began belongs to the baseline and changes nothing.
    """

    def __init__(self):
        self.live = self.peak = 0
        self._sizes = {}

    def malloc_postprocess(self, **event):
        """Count an allocation.

        Parameters
        ----------
        **event
            CuPy's description; ``size`` is what was asked for, before rounding.
        """
        self._sizes[event["mem_ptr"]] = event["size"]
        self.live += event["size"]
        self.peak = max(self.peak, self.live)

    def free_postprocess(self, **event):
        """Count a release.

        Parameters
        ----------
        **event
            CuPy's description; it has no requested size.
        """
        self.live -= self._sizes.pop(event["mem_ptr"], 0)


def _cupy_peak(subject: Subject) -> MemoryFigure:
    cupy = sys.modules["cupy"]
    bases = (RequestedBytes, cupy.cuda.MemoryHook)
    hook_class = type("RequestedBytesHook", bases, {"name": "requested bytes"})
    inputs = subject.fresh()
    with hook_class() as hook:
        kept = subject.step(inputs)
        cupy.cuda.get_current_stream().synchronize()
    del kept
    return MemoryFigure(
        hook.peak, "cupy memory hooks",
        "misses what cuBLAS and cuDNN take from the driver, memory taken outside CuPy's pool, and the host",
    )


_INSTRUMENTS: dict[str, Callable[[Subject], MemoryFigure]] = {
    "numpy": _numpy_peak, "torch": _torch_peak, "cupy": _cupy_peak,
}
