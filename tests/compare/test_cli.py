"""The command from outside: verdicts, statuses, messages, interruption."""

import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

from compare import __version__
from compare.cli import main
from compare.report.schema import problems
from compare.run.journal import NAME

RUN = Path(__file__).parent / "run"
ROOT = Path(__file__).parents[2]
FILES = ["report.html", "report.json", "report.md"]


def start(*words, log="", **streams):
    environment = os.environ | {"PYTHONPATH": f"{RUN}{os.pathsep}{ROOT}", "HOSTILE_LOG": str(log)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    command = [sys.executable, "-m", "compare", *map(str, words)]
    # A shell starts what runs in its background deaf to SIGINT, and children inherit that, but no handler.
    deaf_or_not = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, env=environment, cwd=ROOT, text=True, **streams)
    finally:
        signal.signal(signal.SIGINT, deaf_or_not)


def finish(process):
    out, err = process.communicate()
    return process.returncode, out, err


def refcompare(*words, **keywords):
    return finish(start(*words, **keywords))


@pytest.fixture
def inside(monkeypatch, capfd):
    """The command in this process, where the fork server stays: status, standard output, standard error."""
    monkeypatch.syspath_prepend(str(RUN))
    handler = signal.getsignal(signal.SIGTERM)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["refcompare", *map(str, words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code, *capfd.readouterr())

    yield run
    signal.signal(signal.SIGTERM, handler)


def rows_of(folder):
    report = json.loads((folder / "report.json").read_text())
    assert problems(report) == []
    return report["cases"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Every peer that misbehaves, in a run of those that never end and a run of the others."""
    sys.path.insert(0, str(RUN))
    try:
        from hostile_cases import EXPECTED
    finally:
        sys.path.remove(str(RUN))
    folder = tmp_path_factory.mktemp("hostile")
    # What never ends is over time on any machine; nothing else may be, however busy the machine is.
    endless = [name for name, (verdict, _) in EXPECTED.items() if verdict == "TIMEOUT"]
    others = [name for name in EXPECTED if name not in endless]
    rows = {}
    for name, cases, seconds in (("endless", endless, 2), ("report", others, 250)):
        status, out, err = refcompare(
            "run", *cases, "--plugin", "hostile_cases", "--output", folder / name,
            "--time-limit", seconds, "--memory-limit", 0.5, log=folder / "filled",
        )  # fmt: skip
        rows |= {row["case"]: row for row in rows_of(folder / name)}
    return EXPECTED, rows, status, out, err, folder / "report"


def test_every_misbehaviour_is_a_verdict_of_its_own(hostile):
    expected, rows, *_ = hostile
    assert rows.keys() == expected.keys()
    found = {name: (row["verdict"], row["reason"]) for name, row in rows.items()}
    wrong = {
        name: found[name]
        for name, (verdict, reason) in expected.items()
        if found[name][0] != verdict or not re.search(reason, found[name][1])
    }
    assert not wrong


def test_a_row_that_failed_says_how_to_repeat_it(hostile):
    assert hostile[1]["aborts"]["repeat"] == (
        "refcompare run aborts --config only --dtype float32 --peer torch --plugin hostile_cases"
    )


def test_a_run_with_failures_ends_with_status_1_and_all_files(hostile):
    _, _, status, _, _, folder = hostile
    assert status == 1
    assert sorted(path.name for path in folder.iterdir()) == FILES


def test_no_flood_and_no_progress_bar_reaches_what_is_no_terminal(hostile):
    _, _, _, out, err, _ = hostile
    assert err == ""
    assert "floodflood" not in out and "flood\n" not in out


def test_all_well_is_status_0_with_the_tables_and_the_paths(tmp_path):
    status, out, err = refcompare("run", "honest", "--plugin", "hostile_cases", "--output", tmp_path)
    assert (status, err) == (0, "")
    assert "1 comparisons: 1 PASS" in out and "harness overhead" in out
    assert out.split()[-3:] == [str(tmp_path / f"report.{kind}") for kind in ("json", "md", "html")]
    environment = json.loads((tmp_path / "report.json").read_text())["environment"]
    assert environment["command"] == f"refcompare run honest --plugin hostile_cases --output {tmp_path}"
    seconds = environment["seconds"]
    assert seconds["overhead"] == seconds["wall"] - seconds["measured"]


def test_progress_shows_on_a_terminal(tmp_path):
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    process = start("run", "honest", "--plugin", "hostile_cases", "--output", tmp_path, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # what Linux says at the end of a terminal
        while more := os.read(ours, 1 << 16):
            shown += more
    process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert b"0/1" in shown and b"unit" in shown


NOTED = ("run", "noted", "--plugin", "hostile_cases", "--workers", 1)
STATUSES = {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("number", STATUSES, ids=lambda number: number.name)
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, number):
    folder, log = tmp_path / "report", tmp_path / "log"
    process = start(*NOTED, "--output", folder, log=log)
    journal = folder / NAME
    while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
        assert process.poll() is None
        time.sleep(0.02)
    # One of the others waits for a file that is not there yet: however late the signal is, it comes in time.
    process.send_signal(number)
    status, _, err = finish(process)
    assert status == STATUSES[number]
    assert sorted(path.name for path in folder.iterdir()) == [NAME]
    finished = journal.read_bytes().count(b"\n")
    assert finished < 8
    if number != signal.SIGKILL:
        assert err.count("\n") == 1
        assert f"interrupted; {finished} of 8 units are finished; the same command goes on" in err
    kept = {row["config"]["name"] for line in journal.read_text().splitlines() for row in json.loads(line)["value"]}
    assert len(kept) == finished
    with journal.open("ab") as file:
        file.write(b'{"key": "half a li')

    Path(f"{log}.go").touch()
    status, _, err = refcompare(*NOTED, "--output", folder, log=log)
    assert (status, err) == (0, f"resuming: {finished} of 8 units were finished before\n")
    assert len(rows_of(folder)) == 8
    assert sorted(path.name for path in folder.iterdir()) == FILES
    processes = defaultdict(set)
    for line in log.read_text().splitlines():
        processes[line.split()[0]].add(line.split()[1])
    # What was finished did not run again.  Others may have: a child can be ahead of what its parent has noted.
    assert all(len(processes[name]) == 1 for name in kept)
    assert len(processes) == 8


def test_a_finished_run_starts_anew(tmp_path):
    folder, log = tmp_path / "report", tmp_path / "log"
    for runs in (1, 2):
        status, _, err = refcompare(*NOTED, "--config", "c1", "--output", folder, log=log)
        assert (status, err) == (0, "")
        assert len(set(log.read_text().splitlines())) == runs


@pytest.mark.parametrize(("words", "message"), [
    (("run", "layer_nrm"), "there is no case 'layer_nrm'; did you mean layer_norm"),
    (("run", "layer_norm", "--config", "rank9"), "no config 'rank9'; did you mean rank"),
    (("run", "layer_norm", "--peer", "tensorflow"), "no peer 'tensorflow'; there are torch, autograd"),
    (("run", "--plugin", "no_such_module"), "plugin must be a module that can be imported, got 'no_such_module'"),
    (("list", "--section", "layer"), "no section 'layer'; did you mean layers"),
    (("run", "--dtype", "float8"), "'float8' is not one of 'float64', 'float32', 'float16', 'bfloat16'"),
    (("run", "--measure", "beauty"), "'beauty' is not one of 'outputs', 'gradients', 'memory', 'throughput'"),
    (("run", "--profile", "huge"), "'huge' is not one of 'quick', 'full'"),
    (("run", "--backend", "jax"), "backend must be one of numpy, cupy, got 'jax'"),
    (("run", "--workers", "0"), "'--workers': Input should be greater than or equal to 1"),
    (("run", "--time-limit", "inf"), "'--time-limit': Input should be less than or equal to 1000000"),
    (("run", "--memory-limit", "inf"), "'--memory-limit': Input should be less than or equal to 1000000"),
    (("run", "--no-such-option"), "No such option"),
    (("compare",), "No such command 'compare'"),
    (("diff", "nowhere", "nowhere"), "cannot read nowhere: No such file"),
])  # fmt: skip
def test_wrong_usage_is_one_line_and_status_2(inside, words, message, tmp_path):
    options = ("--output", tmp_path / "report") if words[0] == "run" else ()
    status, out, err = inside(*words, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not list(tmp_path.iterdir())


def test_cupy_without_a_gpu_is_one_sentence(tmp_path):
    code = (
        "import sys; sys.modules['cupy'] = None; sys.argv = ['refcompare', 'run', '--backend', 'cupy'];"
        "from compare.cli import main; main()"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert "cupy backend needs" in found.stderr


def test_a_folder_that_cannot_be_written_to_is_said_before_any_work(inside, tmp_path):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "report"
    status, out, err = inside(*NOTED, "--output", folder)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"cannot write to the folder {folder}: Not a directory" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_report_in_the_way_is_said_before_any_work(inside, tmp_path):
    (tmp_path / "report.json").mkdir()
    status, _, err = inside(*NOTED, "--output", tmp_path)
    assert (status, err.count("\n")) == (2, 1)
    assert f"cannot write {tmp_path / 'report.json'}: Is a directory" in err
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_diff_is_0_without_change_1_for_the_worse_and_2_for_what_is_no_report(inside, tmp_path, hostile):
    report = hostile[-1] / "report.json"
    status, out, err = inside("diff", hostile[-1], report)
    assert (status, out, err) == (0, "no change\n", "")
    changed = json.loads(report.read_text())
    (row,) = [row for row in changed["cases"] if row["case"] == "honest"]
    row["verdict"], row["reason"] = "FAIL", "because"
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps(changed))
    assert inside("diff", report, worse)[0] == 1
    assert inside("diff", worse, report)[0] == 0  # a change for the better
    worse.write_text("{}")
    status, out, err = inside("diff", report, worse)
    assert (status, out, err.count("\n")) == (2, "", 1) and str(worse) in err


def test_matplotlib_does_not_talk_about_its_fonts():
    """As it does wherever its first figure takes more than five seconds."""
    speak = "import logging; logging.getLogger('matplotlib.font_manager').warning('building the font cache')"
    for code, said in ((speak, "building the font cache\n"), (f"import compare.cli; {speak}", "")):
        assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stderr == said


def test_list_shows_what_can_be_compared(inside):
    status, out, err = inside("list", "--section", "layers")
    assert (status, err) == (0, "")
    line = next(line for line in out.splitlines() if " layer_norm " in line)
    assert "Layer normalisation" in line and "rank2" in line and "float64" in line and "torch" in line
    assert "attention" not in out


def test_the_version_and_the_help(inside):
    assert inside("--version") == (0, f"refcompare {__version__}\n", "")
    status, out, _ = inside("run", "--help")
    assert status == 0 and "--profile" in out


def test_what_is_measured_is_in_the_row(inside, tmp_path):
    status, _, err = inside("run", "timed", "--plugin", "hostile_cases", "--output", tmp_path)
    (row,) = rows_of(tmp_path)
    assert (status, err, row["reason"]) == (0, "", "")
    # 30 times 40 numbers of four bytes: y and dx.
    assert row["memory"]["analytic_bytes"] == 2 * 30 * 40 * 4
    assert row["memory"]["reference"]["peak_bytes"] >= row["memory"]["analytic_bytes"]
    assert row["memory"]["peer"]["instrument"] == "torch profiler"
    # One multiplication forward and one backward; x and dy are read, y and dx are written.
    assert row["throughput"]["flops"] == 2 * 30 * 40
    assert row["throughput"]["bytes"] == 4 * 30 * 40 * 4
    assert row["throughput"]["share_of_roof"] > 0
    assert row["outputs"]["peer"]["y"]["passed"]


def test_only_what_was_asked_for_is_measured(inside, tmp_path):
    command = ("run", "timed", "--plugin", "hostile_cases", "--output", tmp_path, "--measure")
    assert inside(*command, "memory")[0] == 0
    (row,) = rows_of(tmp_path)
    assert row["memory"] and not row["throughput"] and not row["outputs"]["peer"]
    assert inside(*command, "outputs")[0] == 0
    (row,) = rows_of(tmp_path)
    assert not row["memory"] and row["outputs"]["peer"] and not row["gradients"]["peer"]


def test_a_crash_while_time_is_measured_is_the_verdict_of_its_row(inside, tmp_path):
    status, _, _ = inside(
        "run", "timed", "crash_when_timed", "--plugin", "hostile_cases", "--output", tmp_path
    )
    rows = {row["case"]: row for row in rows_of(tmp_path)}
    assert status == 1
    assert rows["timed"]["verdict"] == "PASS"
    assert rows["crash_when_timed"]["verdict"] == "CRASH"
    assert "while throughput was measured" in rows["crash_when_timed"]["reason"]
