"""The command in a process of its own: streams, locales, interrupts."""

import json
import os
import signal
import subprocess
import sys
import time

from refimpl.checkpoints import load_folder
from tests.commands.conftest import SIZES
from tests.commands.folders import LINES, tiny_folder

COMMAND = [sys.executable, "-m", "refimpl"]
PLAIN = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def call(*words, **environment):
    return subprocess.run([*COMMAND, *map(str, words)], env=PLAIN | environment, **PIPES)


def begun(*words):
    """Start a process that hears Ctrl-C, even where the tests run in the background of a shell."""
    hears = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    return subprocess.Popen([*COMMAND, *map(str, words)], env=PLAIN, **hears, **PIPES)


def test_standard_output_is_the_text_in_utf_8_whatever_the_locale(tmp_path):
    folder = tiny_folder(tmp_path / "model", "gpt2")
    words = ["generate", folder, "--prompt", LINES[-1], "--max-new-tokens", 5]
    outs = [
        call(*words, LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") for locale in ("C.UTF-8", "C", "POSIX")
    ]
    assert [out.returncode for out in outs] == [0, 0, 0], outs[1].stderr
    assert outs[0].stdout == outs[1].stdout == outs[2].stdout
    assert outs[0].stdout.decode("utf-8").startswith(LINES[-1])
    for out in outs:
        assert out.stderr.count(b"\n") == 1  # no bar, no warning: this is no terminal
        assert b"5 tokens in" in out.stderr


def test_a_reader_who_has_read_enough_may_go(trained):
    process = begun("generate", trained, "--prompt", "2", "--max-new-tokens", 20)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 1)
    process.stderr.close()


def test_ctrl_c_keeps_the_steps_that_were_taken(text_file, tmp_path):
    folder = tmp_path / "model"
    process = begun("train", folder, "--text", text_file, "--steps", 100_000, "--sample", 9, *SIZES)
    assert b"in the vocabulary" in process.stderr.readline()
    time.sleep(2.0)  # some steps of a millisecond
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, b""), err
    told = json.loads((folder / "training.json").read_text())
    taken = told["steps_taken"]
    assert 0 < taken < told["n_step"] == 100_000
    assert f"interrupted after step {taken} of 100000; {folder} holds what was reached" in err.decode()
    names = {"config.json", "model.safetensors", "tokenizer.json", "generation_config.json", "training.json",
             "losses.csv", "loss.png"}  # fmt: skip
    assert {path.name for path in folder.iterdir()} == names
    assert len((folder / "losses.csv").read_text().splitlines()) == 1 + taken
    assert load_folder(folder).model_type == "gpt2"
    written = call("generate", folder, "--prompt", "2", "--max-new-tokens", 5)
    assert written.returncode == 0, written.stderr
    assert len(written.stdout.decode().rstrip("\n")) == 6
