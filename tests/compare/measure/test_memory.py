"""Peak bytes against known allocations, against memray, and against measurements that are wrong.

The arrays of a step are counted exactly. What comes on top are small Python and C++ objects, whose number depends
on what free lists hold at the time, and what other threads of the process take and give back meanwhile, such as the
one of pytest-xdist that waits for messages. All that together is far less than an eighth of an array, which is the
only slack used here: no array fits into it.
"""

import gc
import tracemalloc
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import memray
import numpy as np
import pytest
import torch

from compare.measure.memory import RequestedBytes, _torch_cuda_peak, peak_bytes
from compare.measure.subject import Subject
from compare.measure.threads import limited_threads, thread_counts

N = 384
SQUARE = N * N * 8
SLACK = SQUARE / 8


def numpy_square(n):
    return np.linspace(-1.0, 1.0, n * n).reshape(n, n)


def numpy_chain(x):
    """Peak: y and z side by side, then z and the result."""
    y = x @ x
    z = y + 1.0
    del y
    return z @ x


def numpy_softmax(x):
    """Peak: the scores, their exponentials and the weights; scores die, two gradients come."""
    scores = x @ x.T
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = e / np.sum(e, axis=-1, keepdims=True)
    del scores, e
    g = weights * x
    return weights, g - weights * np.sum(g, axis=-1, keepdims=True)


def torch_tensors(n):
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(2, n, 16, generator=generator).requires_grad_() for _ in range(3))


def torch_attention(inputs):
    q, k, v = inputs
    weights = torch.softmax(q @ k.transpose(1, 2) * 0.25, dim=-1)
    y = weights @ v
    return y.detach(), torch.autograd.grad(y, inputs, torch.ones_like(y))


def torch_chain(x):
    y = x + 1.0
    z = y * 2.0
    del y
    return z - x


def numpy_subject(step, n=N):
    return Subject("step", partial(numpy_square, n), step, "numpy")


def torch_subject(step, fresh):
    return Subject("step", fresh, step, "torch")


def at_smallest(subject):
    """The same step on axes of 2: axes of 1 take short cuts that need fewer objects."""
    return replace(subject, fresh=partial(subject.fresh.func, 2))


def memray_peak(subject, folder):
    """The referee: every allocation of the process, Python's and everyone's, above the baseline."""
    path = folder / f"{len(list(folder.iterdir()))}.bin"
    with limited_threads(1):
        subject.step(subject.fresh())
        subject.step(subject.fresh())
        inputs = subject.fresh()
        gc.collect()
        gc.disable()
        try:
            with memray.Tracker(path, trace_python_allocators=True):
                kept = subject.step(inputs)
        finally:
            gc.enable()
    del kept
    return memray.FileReader(path).metadata.peak_memory


def baseline_before_the_inputs(subject):
    """A wrong measurement: the inputs leak into the figure."""
    tracemalloc.start()
    baseline, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    kept = subject.step(subject.fresh())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak - baseline


def outputs_dropped(subject):
    """A wrong measurement: it looks at what is alive at the end instead of at the peak."""
    tracemalloc.start()
    inputs = subject.fresh()
    baseline, _ = tracemalloc.get_traced_memory()
    subject.step(inputs)
    alive, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return alive - baseline


def is_exact(measure, subject, n_byte):
    return abs(measure(subject) - n_byte) < SLACK


def figure(subject):
    return peak_bytes(subject).peak_bytes


NUMPY_STEPS = [
    (np.negative, SQUARE),  # the output alone
    (lambda x: np.multiply(x + 1.0, 2.0), 2 * SQUARE),  # a temporary beside the output
    (lambda x: (x + 1.0) * 2.0, SQUARE),  # operators write into their own temporaries
    (lambda x: [x + 1.0, x + 2.0, x + 3.0], 3 * SQUARE),  # outputs are kept
    (lambda x: x.sum(), 0),  # nothing but small objects
    (numpy_chain, 2 * SQUARE),  # freed memory is used again
    (lambda x: np.add(x, 1.0, out=x), 0),  # in place: the inputs are in the baseline
]


@pytest.mark.parametrize(("step", "n_byte"), NUMPY_STEPS)
def test_known_allocations_of_numpy(step, n_byte):
    subject = numpy_subject(step)
    assert is_exact(figure, subject, n_byte)
    assert figure(at_smallest(subject)) < SLACK  # what comes on top is far less than the arrays


@pytest.mark.parametrize("wrong", [baseline_before_the_inputs, outputs_dropped])
def test_wrong_measurements_are_rejected(wrong):
    subject = numpy_subject(numpy_chain)
    subject.step(subject.fresh())
    assert is_exact(figure, subject, 2 * SQUARE)
    assert not is_exact(wrong, subject, 2 * SQUARE)


def wasteful_square(n):
    return np.ones((8 * n, n))[:n].copy()


def test_what_the_inputs_took_while_they_were_made_is_not_counted():
    assert is_exact(figure, Subject("step", partial(wasteful_square, N), np.negative, "numpy"), SQUARE)


def torch_square(n):
    return torch.ones(n, n, dtype=torch.float64)


def torch_parameter(n):
    return torch_square(n).requires_grad_()


TORCH_STEPS = [
    (torch.neg, SQUARE),
    (lambda x: (x.exp().tanh(), x.exp()), 2 * SQUARE),
    (torch_chain, 2 * SQUARE),
    (lambda x: x.add_(1.0), 0),
    (lambda x: x.view(-1), 0),
    (lambda x: [x.exp() for _ in range(3)], 3 * SQUARE),
]


@pytest.mark.parametrize(("step", "n_byte"), TORCH_STEPS)
def test_known_allocations_of_torch(step, n_byte):
    assert is_exact(figure, torch_subject(step, partial(torch_square, N)), n_byte)


def test_torch_gradients_are_counted():
    def step(x):
        y = x.exp()  # kept for the backward
        y.backward(torch_square(N))  # its cotangent, then the gradient
        return y, x.grad

    subject = torch_subject(step, partial(torch_parameter, N))
    assert figure(subject) == 3 * SQUARE


def test_the_same_step_gives_the_same_figure_again():
    subject = torch_subject(torch_attention, partial(torch_tensors, N))
    assert figure(subject) == figure(subject)


def test_the_same_step_of_numpy_gives_the_same_figure_but_for_small_objects():
    subject = numpy_subject(numpy_softmax)
    assert abs(figure(subject) - figure(subject)) < SLACK


def test_gradients_left_by_an_earlier_call_are_refused():
    weight = torch_parameter(N)

    def step(x):
        y = x * weight
        y.backward(x)
        return y, weight.grad

    with pytest.raises(ValueError, match=r"added to one of shape \(384, 384\)"):
        peak_bytes(torch_subject(step, partial(torch_square, N)))

    def fresh(n):
        weight.grad = None
        return torch_square(n)

    subject = torch_subject(step, partial(fresh, N))
    # y; then the product with the cotangent, which becomes the gradient
    assert figure(subject) == 2 * SQUARE


@pytest.mark.parametrize("step", [numpy_chain, numpy_softmax])
def test_memray_agrees_on_numpy(step, tmp_path):
    subject = numpy_subject(step)
    assert abs(memray_peak(subject, tmp_path) - figure(subject)) < SLACK


def test_memray_agrees_on_torch_attention(tmp_path):
    subject = torch_subject(torch_attention, partial(torch_tensors, N))
    assert abs(memray_peak(subject, tmp_path) - figure(subject)) < SLACK  # an eighth of one map of float32, too


def test_memray_sees_the_wrong_measurement(tmp_path):
    subject = numpy_subject(numpy_chain)
    assert abs(memray_peak(subject, tmp_path) - baseline_before_the_inputs(subject)) > SLACK


def test_collector_threads_and_tracing_are_as_before_even_after_an_error():
    def step(x):
        assert not gc.isenabled()
        assert set(thread_counts().values()) == {1}
        raise KeyError("broken")

    before = thread_counts()
    with pytest.raises(KeyError):
        peak_bytes(numpy_subject(step))
    assert gc.isenabled() and not tracemalloc.is_tracing() and thread_counts() == before


def test_figures_name_their_instrument_and_its_blind_spots():
    for subject, instrument, blind in [
        (numpy_subject(np.negative), "tracemalloc", "NumPy 2.4"),
        (torch_subject(torch.neg, partial(torch_square, 4)), "torch profiler", "oneDNN"),
    ]:
        measured = peak_bytes(subject)
        assert measured.instrument == instrument and blind in measured.blind_spots


def test_nothing_is_written_to_the_terminal(capfd):
    peak_bytes(torch_subject(torch.neg, partial(torch_square, 4)))
    assert capfd.readouterr() == ("", "")


def test_an_unknown_library_is_refused():
    with pytest.raises(ValueError, match=r"library must be one of \['cupy', 'numpy', 'torch'\], got 'jax'"):
        peak_bytes(Subject("step", int, abs, "jax"))


def test_cupy_hooks_count_requested_bytes_and_ignore_what_was_there_before():
    hook = RequestedBytes()
    hook.free_postprocess(device_id=0, mem_size=4096, mem_ptr=1, pmem_id=1)
    for pointer, size in [(2, 100), (3, 1000)]:
        hook.malloc_postprocess(device_id=0, size=size, mem_size=1024, mem_ptr=pointer, pmem_id=pointer)
    hook.free_postprocess(device_id=0, mem_size=1024, mem_ptr=3, pmem_id=3)
    hook.malloc_postprocess(device_id=0, size=900, mem_size=1024, mem_ptr=3, pmem_id=4)
    assert (hook.live, hook.peak) == (1000, 1100)


def test_cuda_peak_is_above_the_baseline():
    class Cuda:
        """Counts like torch.cuda, without a device."""

        live = peak = 700

        def synchronize(self):
            pass

        def memory_allocated(self):
            return self.live

        def reset_peak_memory_stats(self):
            self.peak = self.live

        def max_memory_allocated(self):
            return self.peak

    cuda = Cuda()
    cuda.peak = 10_000  # of an earlier step

    def step(inputs):
        cuda.live, cuda.peak = 712, 1212

    subject = Subject("step", object, step, "torch")
    assert _torch_cuda_peak(SimpleNamespace(cuda=cuda), subject, None).peak_bytes == 512
