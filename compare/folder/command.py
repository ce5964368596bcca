"""``refcompare checkpoint``, and ``refcompare run`` on a folder."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from compare.run.options import Dtype, check_text, limits_of
from compare.run.plan import Request
from compare.run.problem import Problem

# What `run` understands of a folder; its other options choose among cases.
FOR_FOLDERS = {"cases", "dtype", "output", "seed", "time_limit", "memory_limit"}


def checkpoint(
    folder: Annotated[Path, typer.Argument(help="A folder with config.json and model.safetensors.")],
    against: Annotated[
        Path | None, typer.Option(help="Let transformers load this folder instead, and say how the two differ.")
    ] = None,
    dtype: Annotated[list[Dtype] | None, typer.Option(help="float64 or float32; by default both.")] = None,
    text: Annotated[str | None, typer.Option(help="What the models read, if there is a tokenizer.json.")] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="How many random tokens they read otherwise; by default 12.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random tokens.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("reports/checkpoint"),
    time_limit: Annotated[float, typer.Option(min=0.1, max=1e6, help="Seconds.")] = 3600.0,
    memory_limit: Annotated[float | None, typer.Option(min=0.1, max=1e6, help="GiB; by default 90 % of all.")] = None,
    most_bytes: Annotated[int, typer.Option(min=1, help="Most bytes that the weights may need.")] = 64 * 2**30,
):
    """Compare your own checkpoint with transformers, layer by layer, and name the first that differs."""
    if text and tokens:
        raise Problem("--tokens is for random tokens and means nothing for a text; leave one of the two out")
    request = Request(dtypes=tuple(map(str, dtype or ())), seed=seed)
    limits = limits_of("numpy", 1, time_limit, memory_limit)
    settings = {"against": against, "text": text, "n_token": tokens, "max_bytes": most_bytes}
    return compare_folders([folder], request, limits, output, **settings)


def folders_among(names):
    """Tell folders from cases.

    Parameters
    ----------
    names : sequence of str
        What the user typed.

    Returns
    -------
    list of str
        The folders: all of the names, or none.

    Raises
    ------
    Problem
        If there are both.
    """
    folders = [name for name in names if Path(name, "config.json").is_file() or "/" in name or "\\" in name]
    if folders and len(folders) < len(names):
        raise Problem("name either cases or folders, not both")
    return folders


def refuse_options(context):
    """Refuse options of ``run`` that mean nothing for a folder.

    Parameters
    ----------
    context : typer.Context
        Knows what was given.

    Raises
    ------
    Problem
        If one of them was; one sentence with its name.
    """
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in FOR_FOLDERS and source is not None and source.name == "COMMANDLINE":
            raise Problem(f"--{name.replace('_', '-')} is for cases and means nothing for a folder; leave it out")


def compare_folders(folders, request, limits, output, **settings):
    """Compare folders with `transformers`, print what was found and write the report.

    Parameters
    ----------
    folders : sequence of path-like
        The checkpoints.
    request : Request
        Tells dtypes and seed.
    limits : Limits
        What each may use.
    output : pathlib.Path
        Folder of the report.
    **settings
        As for `compare.folder.run.run_folders`.

    Returns
    -------
    int
        The exit status.
    """
    from compare.folder.run import render, run_folders
    from compare.report import write_all
    from compare.run.writable import check_writable

    unknown = [dtype for dtype in request.dtypes if dtype not in ("float64", "float32")]
    if unknown:
        raise Problem(f"dtype must be float64 or float32 for a checkpoint, got {unknown[0]}")
    check_text(settings.get("text"))
    check_writable(output, "report.json", "report.md", "report.html")
    command = shlex.join(["refcompare", *sys.argv[1:]])
    report, differences = run_folders(folders, request, limits, command, **settings)
    print(render(report, differences) + "\n")
    print("\n".join(str(path) for path in write_all(report, output)))
    return int(any(row["verdict"] != "PASS" for row in report["cases"]))
