import numpy as np
import pytest
import torch

from compare.cases.bug import rewritten
from refimpl.training.adamw import Moments, adamw

SETTINGS = {"learning_rate": 0.03, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.4}
SHAPES = {"w": (3, 4), "b": (4,)}
N_STEP = 12


def gradients(step):
    generator = np.random.default_rng([7, step])
    return {key: generator.normal(size=shape) * 10.0 ** generator.integers(-4, 2) for key, shape in SHAPES.items()}


def start():
    generator = np.random.default_rng(3)
    return {key: generator.normal(size=shape) for key, shape in SHAPES.items()}


def run(of=adamw, dtype=np.float64, **settings):
    params, moments = {key: x.astype(dtype) for key, x in start().items()}, Moments()
    for step in range(N_STEP):
        scaled = {key: x.astype(dtype) for key, x in gradients(step).items()}
        params, moments = of(params, scaled, moments, **{**SETTINGS, **settings})
    return params


def run_in_torch(decayed):
    tensors = {key: torch.tensor(x, requires_grad=True) for key, x in start().items()}
    groups = [
        {"params": [x for key, x in tensors.items() if (key in decayed) is kept], "weight_decay": decay}
        for kept, decay in ((True, SETTINGS["weight_decay"]), (False, 0.0))
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.03, betas=(0.8, 0.95), eps=1e-3)
    for step in range(N_STEP):
        for key, gradient in gradients(step).items():
            tensors[key].grad = torch.tensor(gradient)
        optimizer.step()
    return {key: x.detach().numpy() for key, x in tensors.items()}


def far(found, want):
    """In units of what rounding may do: some sixteen operations a step, on parameters and steps."""
    unit = 16 * N_STEP * np.finfo(np.float64).eps
    return max(np.max(np.abs(found[key] - want[key]) / (unit * (np.abs(want[key]) + 0.03))) for key in want)


@pytest.mark.parametrize("decayed", [["w", "b"], ["w"], []])
def test_steps_are_those_of_pytorch(decayed):
    assert far(run(decayed=decayed), run_in_torch(decayed)) < 1.0


def test_all_parameters_decay_by_default():
    assert all(np.array_equal(x, run(decayed=["w", "b"])[key]) for key, x in run().items())


WRONG = {
    "decay in the gradient": rewritten(
        adamw, "xp, gradient = array_namespace(param), gradients[key]",
        "xp, gradient, weight_decay = array_namespace(param), gradients[key] + 0.4 * param, 0.0",
    ),
    "first moment not debiased": rewritten(adamw, "learning_rate / debias1", "learning_rate"),
    "second moment not debiased": rewritten(adamw, "xp.sqrt(second[key]) / debias2", "xp.sqrt(second[key])"),
    "eps under the root": rewritten(
        adamw, "(xp.sqrt(second[key]) / debias2 + eps)", "xp.sqrt(second[key] / debias2**2 + eps**2)"
    ),
    "eps before the bias is corrected": rewritten(
        adamw, "(xp.sqrt(second[key]) / debias2 + eps)", "((xp.sqrt(second[key]) + eps) / debias2)"
    ),
    "decay without the learning rate": rewritten(adamw, "1.0 - learning_rate * weight_decay", "1.0 - weight_decay"),
    "decay of the moved parameter": rewritten(
        adamw, "kept * param - learning_rate", "kept * param - kept * learning_rate"
    ),
    "moments of the last step only": rewritten(adamw, "beta1 * moments.first.get(key, 0.0)", "0.0"),
    "means of means": rewritten(
        adamw, "(1.0 - beta2) * gradient * gradient", "(1.0 - beta2) * first[key] * first[key]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_optimiser_is_rejected(name):
    assert far(run(WRONG[name]), run_in_torch(["w", "b"])) > 1000.0


def test_nothing_that_was_handed_in_changes():
    params, slopes = start(), gradients(0)
    moved, moments = adamw(params, slopes, Moments(), **SETTINGS)
    adamw(moved, slopes, moments, **SETTINGS)
    for key, x in start().items():
        np.testing.assert_array_equal(params[key], x)
        np.testing.assert_array_equal(slopes[key], gradients(0)[key])
    assert moments.n_step == 1


def test_dtypes_stay():
    assert {x.dtype for x in run(dtype=np.float32).values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate must be at least 0"),
        ({"betas": (0.9, 1.0)}, "betas must be below 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        run(**settings)


def test_gradients_of_other_parameters_are_refused():
    with pytest.raises(ValueError, match=r"gradients must be those of the parameters, got \['w'\]"):
        adamw(start(), {"w": gradients(0)["w"]}, Moments(), **SETTINGS)
