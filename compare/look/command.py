"""``refcompare look``: the same text through a BERT and a GPT, their attention maps side by side, and their memory."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

TEXT = "The animal did not cross the street because it was too tired."


def look(
    text: Annotated[str, typer.Argument(help="What both read.")] = TEXT,
    bert: Annotated[Path | None, typer.Option(help="Folder of a BERT; by default MiniLM.")] = None,
    gpt: Annotated[Path | None, typer.Option(help="Folder of a GPT; by default a small one is trained here.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="What it is trained on; by default Shakespeare.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="How long.")] = 300,
    layer: Annotated[list[int] | None, typer.Option(help="Which layers; repeatable.")] = None,
    head: Annotated[int | None, typer.Option(help="Which head; by default the mean.")] = None,
    memory: Annotated[
        list[int] | None, typer.Option(min=1, max=512, help="Lengths at which memory is measured; repeatable.")
    ] = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Measure no memory, which takes minutes.")] = False,
    output: Annotated[Path, typer.Option(help="Folder of attention.html and attention.png.")] = Path("reports/look"),
):
    """Show what a BERT and a GPT attend to in the same text, and the memory of BERT base and Transformer base."""
    from compare.look.page import render_page
    from compare.look.plot import draw_maps
    from compare.look.weights import attention_weights, habits
    from compare.run.options import check_text
    from compare.run.writable import check_writable

    check_text(text)
    check_writable(output, "attention.html", "attention.png")
    readers = _readers(text, bert, gpt, corpus, steps, partial(_check_choice, layer or (), head))
    weights = [attention_weights(reader.checkpoint, reader.token_ids) for reader in readers]
    tables = [
        (f"Where {reader.title} looks", ["layer", *found], _rows(found))
        for reader, found in ((reader, habits(each)) for reader, each in zip(readers, weights, strict=True))
    ]
    if not no_memory:
        tables.append(_memory(memory or (128, 512)))
    _print(tables)
    figure = draw_maps(readers, weights, layers=layer, head=head)
    output.mkdir(parents=True, exist_ok=True)
    paths = [output / "attention.html", output / "attention.png"]
    paths[0].write_text(render_page(text, figure, tables), encoding="utf-8")
    figure.savefig(paths[1], dpi=130)
    print("\n".join(map(str, paths)))
    return 0


def _check_choice(layers, head, title, n_layer, n_head):
    """Refuse a layer or head that a model does not have; negative ones count from behind."""
    from compare.run.problem import Problem

    chosen = [("layer", layer, n_layer) for layer in layers] + [("head", head, n_head)] * (head is not None)
    for name, value, n in chosen:
        if not -n <= value < n:
            raise Problem(f"--{name} must be from {-n} to {n - 1} for {title}, which has {n} {name}s, got {value}")


def _readers(text, bert, gpt, corpus, steps, check):
    from tqdm import tqdm

    from compare.look.models import SIZES, folder_reader, trained_reader
    from compare.run.problem import Problem
    from refimpl.checkpoints import CheckpointError

    def watch(training):
        return tqdm(training, total=steps, unit="step", disable=None, leave=False)

    try:
        readers = [folder_reader(bert or _minilm(), text, "MiniLM" if bert is None else bert.name)]
        _check_reader(check, readers[0])
        if gpt is None:
            check("the GPT that is trained here", SIZES["layers"], SIZES["heads"])
            return [*readers, trained_reader(corpus, text, steps, watch=watch)]
        readers.append(folder_reader(gpt, text, gpt.name))
        _check_reader(check, readers[1])
        return readers
    except (CheckpointError, ModuleNotFoundError) as error:
        hint = "; or give a folder with --gpt" if gpt is None else ""
        raise Problem(f"{error}{hint}") from None


def _check_reader(check, reader):
    config = reader.checkpoint.config
    check(reader.title, config.n_layer, config.n_head)


def _minilm():
    from compare.cases.minilm_data import model_folder

    return model_folder()


def _rows(found):
    columns = zip(*found.values(), strict=True)
    return [[i, *(f"{value:.2f}" for value in column)] for i, column in enumerate(columns)]


def _memory(lengths):
    from compare.costs.published import PUBLISHED
    from compare.look.memory import MODELS, measured_memory
    from compare.report.words import ratio, scaled
    from compare.run.limits import Limits, share_of_memory
    from compare.run.pool import run_isolated

    tasks = [((name, n_seq), measured_memory, (name, n_seq)) for name in MODELS for n_seq in sorted(lengths)]
    rows = []
    for (name, n_seq), outcome in run_isolated(tasks, n_worker=1, limits=Limits(1800.0, share_of_memory(1))):
        title = PUBLISHED[name].title
        if outcome.status != "done":
            rows.append([title, n_seq, outcome.message, "", ""])
            continue
        found = outcome.value
        bytes_ = [scaled(found[kind], "B", 1024) for kind in ("measured", "analytic")]
        rows.append([title, n_seq, *bytes_, ratio(found["measured"] / found["analytic"])])
    title = "Memory of a step, forward and pullback, above parameters and inputs (float32, one text)"
    return title, ["model", "tokens", "measured (tracemalloc)", "analytic", "ratio"], rows


def _print(tables):
    from tabulate import tabulate

    for title, headers, rows in tables:
        print(f"{title}\n\n{tabulate(rows, headers, tablefmt='simple', disable_numparse=True)}\n")
