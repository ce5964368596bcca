"""The command `refcompare`, also ``python -m compare``."""

import logging
import shlex
import shutil
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
import typer.exceptions

from compare import __version__
from compare.costs.command import cost
from compare.folder.command import checkpoint, compare_folders, folders_among, refuse_options
from compare.look.command import look
from compare.run.interrupt import interruptible
from compare.run.options import Dtype, limits_of, usable_backend
from compare.run.plan import MEASURES, Request
from compare.run.problem import Problem
from compare.training.command import training

# Whose first figure on a machine takes long says so on the standard error: it looks for all fonts there are.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
app = typer.Typer(
    help="Compare our array mathematics with PyTorch on outputs, gradients, memory and throughput.\n\n"
    "Exit status: 0 all well; 1 some verdict is not PASS, or a diff is for the worse; 2 wrong usage; "
    "130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
Plugins = Annotated[list[str] | None, typer.Option("--plugin", help="Module with CASES of its own; repeatable.")]
Measure = StrEnum("Measure", [(name, name) for name in MEASURES])


for command in (training, checkpoint, cost, look):
    app.command()(interruptible(command))


class Terminated(KeyboardInterrupt):
    """The system asked the run to end."""


def main():
    """Run the command line; whatever the user can put right is one line on the standard error."""
    try:
        status = app(standalone_mode=False)
    except typer.exceptions.TyperException as error:
        status = _complain(error.format_message(), 2)
    except (Problem, OSError, MemoryError) as error:
        status = _complain(error, 2)
    sys.exit(status)


def _version(wanted: bool):
    if wanted:
        print(f"refcompare {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


@app.command("list")
def list_cases(
    section: Annotated[list[str] | None, typer.Option("--section", help="Only this section; repeatable.")] = None,
    plugin: Plugins = None,
):
    """Show the cases: what can be compared, and with what."""
    from tabulate import tabulate

    from compare.run.catalogue import check_names
    from compare.run.session import read_catalogue

    cases = read_catalogue(tuple(plugin or ())).cases.values()
    check_names("section", section or (), (case.section for case in cases))
    rows = [
        (case.section, case.name, case.title, " ".join(config.name for config in case.configs),
         " ".join(case.dtypes), " ".join(case.libraries + case.oracles), case.n_bug)
        for case in cases
        if not section or case.section in section
    ]  # fmt: skip
    headers = ("section", "case", "title", "configs", "dtypes", "peers", "bugs")
    print(tabulate(rows, headers, tablefmt="simple", maxcolwidths=[None, None, 24, 32, 16, 14, None]))
    return 0


@app.command()
def run(
    context: typer.Context,
    cases: Annotated[
        list[str] | None, typer.Argument(help="Names of cases, by default all; or folders with a checkpoint.")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(help="Only this configuration, of any profile; repeatable.")
    ] = None,
    dtype: Annotated[list[Dtype] | None, typer.Option(help="Only this dtype; repeatable.")] = None,
    backend: Annotated[
        str | None, typer.Option(help="numpy or cupy: what runs our side; by default REFIMPL_BACKEND.")
    ] = None,
    peer: Annotated[list[str] | None, typer.Option(help="Only this peer; repeatable.")] = None,
    measure: Annotated[list[Measure] | None, typer.Option(help="Only this quantity; repeatable.")] = None,
    profile: Annotated[Literal["quick", "full"], typer.Option(help="How many configurations.")] = "quick",
    output: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("reports/latest"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of all inputs.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes at once, where nothing is timed.")] = 2,
    time_limit: Annotated[float, typer.Option(min=0.1, max=1e6, help="Seconds for each unit of work.")] = 300.0,
    memory_limit: Annotated[
        float | None, typer.Option(min=0.1, max=1e6, help="GiB for each unit; by default an equal share of the memory.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not resume an interrupted run.")] = False,
    plugin: Plugins = None,
):
    """Compare, and write report.json, report.md and report.html.  An interrupted run resumes."""
    from compare.report import terminal
    from compare.run.session import Session

    if folders := folders_among(tuple(cases or ())):
        refuse_options(context)
        limits = limits_of("numpy", 1, time_limit, memory_limit)
        wanted = Request(dtypes=tuple(map(str, dtype or ())), seed=seed)
        return interruptible(compare_folders)(folders, wanted, limits, output)
    names = [tuple(map(str, given or ())) for given in (cases, config, dtype, peer)]
    request = Request(
        *names, tuple(map(str, measure or MEASURES)), profile, usable_backend(backend), seed, tuple(plugin or ())
    )
    limits = limits_of(request.backend, workers, time_limit, memory_limit)
    session = Session(
        request, output, n_worker=workers, limits=limits
    )
    signal.signal(signal.SIGTERM, _terminate)
    try:
        report, paths = session.run(shlex.join(["refcompare", *sys.argv[1:]]), fresh=fresh)
    except KeyboardInterrupt as error:
        done = f"{session.n_finished} of {len(session.keys)} units are finished; " if session.n_finished else ""
        again = "the same command goes on where this one stopped"
        return _complain(f"interrupted; {done}{again}", _status_of(error))
    print(terminal.render(report, shutil.get_terminal_size((100, 24)).columns))
    print("\n".join(str(path) for path in paths))
    return int(any(row["verdict"] != "PASS" for row in report["cases"]))


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="A report.json, or the folder that has one.")],
    new: Annotated[Path, typer.Argument(help="The same, later.")],
):
    """Show what changed between two reports; the status is 1 when something is for the worse."""
    from compare.report.diff import diff as differences
    from compare.report.diff import render

    changes = differences(*(_read_report(path) for path in (old, new)))
    print(render(changes), end="")
    return int(any(change.worse for change in changes))


def _read_report(path):
    from compare.report import schema

    try:
        return schema.read(path / "report.json" if path.is_dir() else path)
    except OSError as error:
        raise Problem(f"cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise Problem(error) from None


def _terminate(number, frame):
    raise Terminated


def _status_of(error):
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def _complain(message, status):
    print(f"refcompare: {' '.join(str(message).split())}", file=sys.stderr)
    return status
