"""Shape-only arrays: what is counted, that nothing is allocated, and what cannot be known."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from compare.interpretations import cost, cost_words
from compare.interpretations.cost import Shaped, empty, lift
from refimpl.arrays import array_namespace, check_ids, narrow

xp = cost_words


def test_shape_dtype_and_size():
    x = empty((2, 3), np.float32)
    assert (x.shape, x.ndim, x.size, x.dtype, x.nbytes, len(x)) == ((2, 3), 2, 6, np.float32, 24, 2)
    assert repr(x) == "Shaped(shape=(2, 3), dtype=float32)"
    assert array_namespace(x) is cost_words


def test_names_of_16_bit_dtypes():
    assert empty((4,), "bfloat16").nbytes == 8
    assert (empty((4,), "bfloat16") * 2.0).dtype == "bfloat16"
    assert (empty((4,), "float16") / 3).dtype == np.float16


def test_lift_forgets_values_and_keeps_the_structure():
    tree = {"a": np.ones((2, 3)), "b": [None, (np.float32(1.0), narrow(np.ones(2), "bfloat16"))], "c": 3}
    lifted = lift(tree)
    assert lifted["a"].shape == (2, 3)
    assert lifted["b"][0] is None
    assert isinstance(lifted["b"][1], tuple)
    assert [x.dtype.name for x in lifted["b"][1]] == ["float32", "bfloat16"]
    assert lifted["c"] == 3


def test_parameters_are_counted():
    params = {"weight": np.ones((3, 4)), "bias": empty((3,), np.float32)}
    assert cost.count(params) == cost.count([params]) == 15
    assert cost.count(lift(params)) == 15


# --- flops ------------------------------------------------------------------------------------------------

A, B, V, N = empty((2, 3), np.float32), empty((3, 4), np.float32), empty((3,), np.float32), empty((2, 3), np.int64)

FLOPS = {
    "a + v": (lambda: A + V, 6, 0),
    "1.0 - a": (lambda: 1.0 - A, 6, 0),
    "a * v / 2.0": (lambda: A * V / 2.0, 12, 0),
    "-a": (lambda: -A, 6, 0),
    "exp": (lambda: xp.exp(A), 0, 6),
    "sqrt": (lambda: xp.sqrt(V), 0, 3),
    "sum over rows": (lambda: xp.sum(A, axis=0), 3, 0),
    "sum of all": (lambda: xp.sum(A), 5, 0),
    "sum of nothing": (lambda: xp.sum(empty((0, 3), np.float32), axis=0), 0, 0),
    "mean": (lambda: xp.mean(A, axis=-1), 4 + 2, 0),
    "cumsum": (lambda: xp.cumsum(A, axis=-1), 4, 0),
    "matmul": (lambda: xp.matmul(A, B), 2 * 2 * 3 * 4, 0),
    "batched matmul": (lambda: xp.matmul(empty((5, 1, 2, 3), np.float32), empty((6, 3, 4), np.float32)), 30 * 48, 0),
    "einsum": (lambda: xp.einsum("ab,bc->ac", A, B), 48, 0),
    "einsum of one": (lambda: xp.einsum("ab->b", A), 6, 0),
    "outer product": (lambda: xp.einsum("a,b->ab", V, V), 9, 0),
    "einsum of three": (lambda: xp.einsum("ab,bc,b->ac", A, B, V), 6 + 48, 0),
    "scatter_add": (lambda: xp.scatter_add(empty((2,), np.int64), A, 10), 6, 0),
    "comparison": (lambda: A > V, 0, 0),
    "where": (lambda: xp.where(A > 0, A, 0.0), 0, 0),
    "max": (lambda: xp.max(A, axis=-1), 0, 0),
    "integers": (lambda: xp.sum(N + 1, axis=0), 0, 0),
    "astype": (lambda: A.astype(np.float64), 0, 0),
    "views": (lambda: xp.swapaxes(xp.reshape(A, (3, 2)), 0, 1)[0], 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOPS)
def test_flops(name):
    compute, flops, transcendentals = FLOPS[name]
    with cost.tracking() as tracker:
        compute()
    assert (tracker.flops, tracker.transcendentals) == (flops, transcendentals)


def test_the_cheap_order_of_three_operands_is_taken():
    row, square = empty((1, 100), np.float32), empty((100, 100), np.float32)
    with cost.tracking() as tracker:
        assert xp.einsum("ab,bc,cd->ad", row, square, square).shape == (1, 100)
    assert tracker.flops == 2 * 2 * 100 * 100


# --- bytes ------------------------------------------------------------------------------------------------

BYTES = {
    "a + v": (lambda: A + V, 24 + 12 + 24),
    "a + 1.0": (lambda: A + 1.0, 48),
    "comparison": (lambda: A > 0.0, 24 + 6),
    "where": (lambda: xp.where(empty((2, 1), np.bool_), A, 0.0), 2 + 24 + 24),
    "matmul": (lambda: xp.matmul(A, B), 24 + 48 + 32),
    "sum": (lambda: xp.sum(A, axis=0), 24 + 12),
    "astype": (lambda: A.astype(np.float64), 24 + 48),
    "zeros": (lambda: xp.zeros((2, 3), dtype=np.float32), 24),
    "view": (lambda: xp.expand_dims(A[:, 1:], axis=0), 0),
    "split": (lambda: xp.split(A, 3, axis=1), 0),
    "gather": (lambda: empty((1000, 5), np.float32)[empty((7,), np.int64)], 7 * 8 + 2 * 7 * 5 * 4),
    "reshape of a copy": (lambda: xp.reshape(xp.swapaxes(A, 0, 1), (6,)), 48),
    "concatenate": (lambda: xp.concatenate([A, A], axis=0), 96),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_moved(name):
    compute, bytes_moved = BYTES[name]
    with cost.tracking() as tracker:
        compute()
    assert tracker.bytes_moved == bytes_moved


def test_costs_are_kept_by_word():
    with cost.tracking() as tracker:
        xp.matmul(A, B) + 1.0 + 2.0
    assert {word: (c.calls, c.flops) for word, c in tracker.by_word.items()} == {"matmul": (1, 48), "add": (2, 16)}
    assert tracker.total.calls == 3


# --- peak memory ------------------------------------------------------------------------------------------


def test_peak_counts_live_buffers():
    x = empty((1000,), np.float64)
    with cost.tracking() as tracker:
        y = x + 1.0  # 8,000 live
        z = y * y    # 16,000
        del y        # 8,000
        w = z + z    # 16,000
        del z, w
    assert tracker.peak_bytes == 16_000
    assert tracker.live_bytes == 0


def test_temporaries_are_freed_when_python_frees_them():
    x = empty((1000,), np.float64)
    with cost.tracking() as tracker:
        y = (x + 1.0) * 2.0 + x  # never more than two at once
    assert tracker.peak_bytes == 16_000
    assert tracker.live_bytes == y.nbytes


def test_inputs_made_before_are_not_counted_and_inputs_made_inside_are():
    before = empty((10,), np.float64)
    with cost.tracking() as tracker:
        inside = empty((20,), np.float64)
    assert tracker.peak_bytes == inside.nbytes
    assert before.nbytes not in (tracker.peak_bytes, tracker.live_bytes)


def test_views_share_their_buffer():
    with cost.tracking() as tracker:
        x = empty((2, 3, 4), np.float64)
        views = [x[0], x[..., ::-1], xp.reshape(x, (6, 4)), xp.moveaxis(x, 0, -1), xp.split(x, 2, axis=0)]
        assert tracker.live_bytes == x.nbytes
        del x
        assert tracker.live_bytes == 192  # a view keeps it alive
        del views
        assert tracker.live_bytes == 0


def test_reshape_copies_where_numpy_copies():
    x = empty((2, 3, 4), np.float64)
    assert xp.reshape(x, (6, 4)).buffer is x.buffer
    assert xp.reshape(xp.swapaxes(x, 0, 1), (6, 4)).buffer is not x.buffer
    assert xp.reshape(x[:, :, :2], (2, 6)).buffer is not x.buffer
    assert xp.reshape(xp.swapaxes(x, 0, 1), (3, 2, 2, 2)).buffer is x.buffer


def test_what_a_pullback_holds_counts_until_it_goes():
    def square(x):
        doubled = x * 2.0
        return x * x, lambda dy: (dy * doubled,)

    x = empty((100,), np.float64)
    with cost.tracking() as tracker:
        y, pullback = square(x)
        assert tracker.live_bytes == 1600
        (dx,) = pullback(y)
        assert tracker.live_bytes == 2400
        del pullback
        assert tracker.live_bytes == 1600
    assert dx.shape == x.shape


def test_trackers_nest_and_end():
    with cost.tracking() as outer:
        A + A
        with cost.tracking() as inner:
            A + A
    A + A
    assert (outer.flops, inner.flops) == (12, 6)


def test_nothing_is_allocated():
    tracemalloc.start()
    try:
        x, w = empty((32, 2048, 12288), np.float32), empty((49152, 12288), np.float32)
        y = xp.einsum("...i,oi->...o", x, w)
        y = xp.where(y > 0, y, 0.0)
        xp.sum(xp.concatenate([y, y], axis=0), axis=(0, 1))
        x[:, empty((5000,), np.int64), None, ::2]
        xp.reshape(xp.swapaxes(y, 1, 2), (-1, 2048))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# --- values that are not there ----------------------------------------------------------------------------


def test_ids_are_taken_as_in_range():
    check_ids("ids", empty((2, 5), np.int64), 10)
    assert int(xp.max(empty((3,), np.int64))) == 0


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda x: bool(xp.any(x > 0)), "branches on values"),
        (lambda x: float(xp.sum(x)), "reads a float"),
        (lambda x: int(xp.sum(x)), "only a 0-d array of integers"),
        (lambda x: int(empty((2,), np.int64)), "only a 0-d array of integers"),
        (lambda x: x[x > 0], "depends on values"),
        (lambda x: x[x], "must be of integer type, got float32"),
        (lambda x: np.asarray(x), "no values to convert"),
        (lambda x: np.exp(x), "ufunc"),
    ],
)
def test_other_values_are_not_known(read, message):
    with pytest.raises(TypeError, match=message):
        read(A)


@pytest.mark.parametrize("other", [np.ones(3), np.float64(1.0), [1.0], None], ids=repr)
def test_host_arrays_and_scalars_are_refused(other):
    for operation in (lambda: A + other, lambda: other * A, lambda: other <= A, lambda: xp.where(A > 0, A, other)):
        with pytest.raises(TypeError):
            operation()


@pytest.mark.parametrize("index", [np.array([0]), [0], (0, [1])], ids=repr)
def test_host_indices_are_refused(index):
    with pytest.raises(TypeError, match="expected a shape-only array in the index"):
        A[index]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: A + empty((4,), np.float32), lambda: xp.matmul(A, A), lambda: xp.matmul(V, B),
        lambda: xp.einsum("ab,bc->ac", A, A), lambda: xp.einsum("abc->a", A), lambda: xp.reshape(A, (4, 2)),
        lambda: xp.reshape(A, (-1, 4)), lambda: xp.reshape(A, (-1, 0)),
        lambda: xp.concatenate([A, B], axis=0), lambda: xp.stack([A, B], axis=0),
        lambda: xp.sum(A, axis=2), lambda: xp.squeeze(A, axis=0), lambda: xp.split(A, 2, axis=1),
        lambda: xp.scatter_add(empty((3,), np.int64), A, 4),
    ],
)  # fmt: skip
def test_wrong_shapes_are_refused_as_numpy_refuses_them(wrong):
    with pytest.raises(ValueError):
        wrong()


@pytest.mark.parametrize("index", [2, (0, 3), (0, 0, 0), (empty((2,), np.int64), 0, 0)], ids=repr)
def test_indices_out_of_range_are_refused(index):
    with pytest.raises(IndexError):
        A[index]


def test_a_sum_over_layers_of_a_large_model_is_quick_and_exact():
    """One product of GPT-3's feed-forward in a process that may not use 1 GB."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_DATA, (10**9, 10**9))\n"
        "from compare.interpretations import cost, cost_words as xp\n"
        "weights = [cost.empty((49152, 12288), 'float16') for _ in range(96)]\n"
        "x = cost.empty((2048, 12288), 'float16')\n"
        "with cost.tracking() as tracker:\n"
        "    for w in weights:\n"
        "        h = xp.matmul(x, xp.swapaxes(w, 0, 1))\n"
        "print(tracker.flops == 2 * 96 * 2048 * 49152 * 12288, tracker.peak_bytes == 2 * 2 * 2048 * 49152)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_shaped_arrays_are_made_by_empty_and_lift_only_from_arrays():
    assert isinstance(lift(np.ones(2)), Shaped)
    assert lift("text") == "text"
