import numpy as np
import pytest

from compare.cases.registry import case_named
from compare.measure.memory import peak_bytes
from compare.run.subjects import count_cost, make_subjects


@pytest.fixture
def layer_norm():
    case = case_named("layer_norm")
    return case, case.config_named("rank3")


def test_both_subjects_compute_the_same_on_the_same_inputs(layer_norm):
    ours, theirs = make_subjects(*layer_norm, "float64", ("reference", "torch"), "numpy", 0)
    y, gradients = ours.step(ours.fresh())
    y_torch, gradients_torch = theirs.step(theirs.fresh())
    # One unit roundoff for each of the operations along the longest sum, whose terms are of order one.
    bound = 16 * 16 * np.finfo(np.float64).eps
    assert np.max(np.abs(y - y_torch[0].numpy())) < bound
    assert np.max(np.abs(gradients[0] - gradients_torch[0].numpy())) < bound * np.max(np.abs(gradients[0]))


def test_inputs_are_the_same_values_in_new_memory(layer_norm):
    for name in ("reference", "torch"):
        (subject,) = make_subjects(*layer_norm, "float32", (name,), "numpy", 0)
        (x, _), _, _ = subject.fresh()
        (other, _), _, _ = subject.fresh()
        assert np.array_equal(np.asarray(x.tolist()), np.asarray(other.tolist()))
        x_host, other_host = (v if isinstance(v, np.ndarray) else v.detach().numpy() for v in (x, other))
        assert not np.shares_memory(x_host, other_host)


def test_the_cost_counts_what_no_implementation_avoids(layer_norm):
    cost = count_cost(*layer_norm, "float32", 0)
    n_vector, d_model = 15, 16
    tensors, vectors = 4 * n_vector * d_model * 4, 4 * d_model * 4  # x dy y dx; weight bias and their gradients
    assert cost["bytes"] == tensors + vectors
    assert cost["flops"] > n_vector * d_model


def test_the_analytic_peak_is_near_the_measured_one():
    case = case_named("layer_norm")
    config = case.config_named("wide")
    (subject,) = make_subjects(case, config, "float32", ("reference",), "numpy", 0)
    measured = peak_bytes(subject).peak_bytes
    analytic = count_cost(case, config, "float32", 0)["peak_bytes"]
    # NumPy reuses the memory of temporaries in expressions, and allocates a few kilobytes of Python objects.
    assert 0.5 * analytic < measured < 1.1 * analytic
