"""A training here and in PyTorch: the same losses, and a judge that knows wrong ones."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from compare.cases.bug import rewritten
from compare.cli import main
from compare.training.judge import judge_losses
from compare.training.relabelled import relabelled_losses
from compare.training.torch_run import torch_losses
from refimpl.commands.small_gpt import Plan, training
from refimpl.models.gpt.config import GptConfig
from refimpl.training import run as run_module
from refimpl.training.adamw import adamw

CONFIG = GptConfig(vocab_size=23, n_position=12, d_model=12, n_head=3, n_layer=2, d_ff=20)
PLAN = Plan(CONFIG, n_step=14, n_batch=5, n_seq=11, learning_rate=0.02, dtype="float64")
TEXT = np.random.default_rng(5).integers(0, 23, 400) // 2


def losses(plan=PLAN):
    return [progress.loss for progress in training(plan, TEXT)]


@pytest.fixture(scope="module", params=["float64", "float32"])
def runs(request):
    plan = replace(PLAN, dtype=request.param)
    return plan, losses(plan), [list(relabelled_losses(plan, TEXT, seed)) for seed in range(4)]


def test_losses_are_those_of_pytorch_step_by_step(runs):
    plan, ours, legal = runs
    judgement = judge_losses(ours, list(torch_losses(plan, TEXT)), legal, plan.dtype)
    assert judgement.passed, judgement.in_sigma
    assert ours[-1] < ours[0] - 0.1


def test_another_legal_run_passes(runs):
    plan, ours, legal = runs
    assert judge_losses(ours, list(relabelled_losses(plan, TEXT, 99)), legal, plan.dtype).passed


WRONG = {
    "no bias correction": rewritten(adamw, "learning_rate / debias1", "learning_rate"),
    "decay in the gradient": rewritten(
        adamw, "xp, gradient = array_namespace(param), gradients[key]",
        "xp, gradient, weight_decay = array_namespace(param), gradients[key] + weight_decay * param, 0.0",
    ),
    "eps before the bias is corrected": rewritten(
        adamw, "(xp.sqrt(second[key]) / debias2 + eps)", "((xp.sqrt(second[key]) + eps) / debias2)"
    ),
    "learning rate off by one in ten thousand": rewritten(
        adamw, "- learning_rate / debias1", "- 1.0001 * learning_rate / debias1"
    ),
    "everything decays": rewritten(adamw, "decayed is None or key in decayed", "True"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_training_is_rejected(name, monkeypatch):
    ours, legal = losses(), [list(relabelled_losses(PLAN, TEXT, seed)) for seed in range(4)]
    monkeypatch.setattr(run_module, "adamw", WRONG[name])
    judgement = judge_losses(ours, losses(), legal, "float64")
    assert judgement.in_sigma.max() > 1000.0
    assert not judgement.passed


def test_a_schedule_that_is_one_step_late_is_rejected():
    ours, legal = losses(), [list(relabelled_losses(PLAN, TEXT, seed)) for seed in range(4)]

    class Late(Plan):
        def rate(self, step):
            return super().rate(step + 1)

    late = Late(**{name: getattr(PLAN, name) for name in PLAN.__dataclass_fields__})
    assert not judge_losses(ours, losses(late), legal, "float64").passed


def test_other_seeds_other_losses(runs):
    plan, ours, legal = runs
    assert not judge_losses(ours, losses(replace(plan, seed=1)), legal, plan.dtype).passed


@pytest.mark.parametrize("spoil", [lambda x: x[:-1], lambda x: [*x[:-1], np.nan], lambda x: [*x, x[-1]]])
def test_missing_losses_and_nan_fail(runs, spoil):
    plan, ours, legal = runs
    assert not judge_losses(ours, spoil(ours), legal, plan.dtype).passed
    assert judge_losses(ours, ours, legal, plan.dtype).passed


def test_one_legal_run_is_none():
    with pytest.raises(ValueError, match="legal must be two runs at least, got 1"):
        judge_losses([1.0], [1.0], [[1.0]], "float64")


def test_what_is_relabelled_is_another_computation():
    """Else the legal runs would measure nothing."""
    assert list(relabelled_losses(PLAN, TEXT, 0)) != losses()


def command(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["refcompare", "training", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return (end.value.code, *capsys.readouterr())


def test_a_plot_that_cannot_be_written_is_said_before_any_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("compare.training.command._planned", None)
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "losses.png"
    status, out, err = command(monkeypatch, capsys, "--plot", path)
    assert (status, out, err) == (2, "", f"refcompare: cannot write {path}: Not a directory\n")
    for name in ("losses.docx", "losses"):
        status, out, err = command(monkeypatch, capsys, "--plot", tmp_path / name)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "--plot must end in one of " in err
        assert f", got '{name}'" in err


def test_an_interruption_is_one_line(monkeypatch, capsys):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("compare.training.command._planned", interrupted)
    assert command(monkeypatch, capsys) == (130, "", "refcompare: interrupted\n")
