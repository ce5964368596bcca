import pickle
import subprocess
import sys

import numpy as np
import pytest

from refimpl.checkpoints.convert_pickle import convert_pickle, main
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.reader import read_safetensors

WEIGHTS = {"lstm.weight_ih_l0": np.asfortranarray(np.arange(6.0, dtype="f4").reshape(2, 3)), "bias": np.ones(2, "f4")}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "weights.pkl"
    path.write_bytes(pickle.dumps(WEIGHTS, protocol=2))
    return path


def test_the_command_converts_what_is_trusted(source, tmp_path, capsys):
    target = tmp_path / "weights.safetensors"
    assert main([str(source), str(target), "--i-trust-this-file"]) == 0
    assert capsys.readouterr().out == f"{target}: 2 arrays\n"
    found = read_safetensors(target)
    assert found.keys() == WEIGHTS.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, WEIGHTS[name])


def test_without_trust_it_names_the_risk_and_reads_nothing(source, tmp_path, capsys):
    target = tmp_path / "weights.safetensors"
    assert main([str(source), str(target)]) == 2
    said = capsys.readouterr().err
    assert "A pickle is a program that runs when it is read" in said
    assert "--i-trust-this-file" in said
    assert not target.exists()


def test_what_is_refused_is_said_in_one_line(tmp_path, capsys):
    for content in ([1, 2], {"weight": [1.0]}, {1: np.ones(2)}):
        source = tmp_path / "other.pkl"
        source.write_bytes(pickle.dumps(content))
        assert main([str(source), str(tmp_path / "target"), "--i-trust-this-file"]) == 1
        assert "expected a dict of arrays by name" in capsys.readouterr().err
    with pytest.raises(CheckpointError, match="expected a file that can be read"):
        convert_pickle(tmp_path / "absent", tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_it_runs_as_a_module(source, tmp_path):
    command = [sys.executable, "-m", "refimpl.checkpoints.convert_pickle", str(source), str(tmp_path / "w.safetensors")]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 2
    subprocess.run([*command, "--i-trust-this-file"], check=True, capture_output=True)
    assert read_safetensors(tmp_path / "w.safetensors").keys() == WEIGHTS.keys()
