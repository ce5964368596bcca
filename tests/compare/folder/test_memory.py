"""What a comparison will need is known before it begins."""

import tracemalloc

import numpy as np
import pytest

from compare.folder.inputs import draw_inputs
from compare.folder.memory import RUNNING, check_memory, forward_bytes
from compare.folder.ours import run_ours
from compare.interpretations.spread import spread
from compare.peers.tree import map_arrays
from refimpl.checkpoints import FAMILIES, CheckpointError, load_folder
from tests.compare.folder.compared import CLASSES


def loaded(folder, class_name):
    checkpoint = load_folder(folder)
    names = FAMILIES[checkpoint.model_type].names
    return checkpoint, names.architecture(checkpoint.params, checkpoint.config, [class_name])[0]


@pytest.mark.parametrize(("name", "class_name"), CLASSES, ids=[class_name for _, class_name in CLASSES])
def test_every_model_runs_on_shapes_alone(name, class_name, folders):
    checkpoint, groups = loaded(folders(name, class_name), class_name)
    peak_bytes, n_stage = forward_bytes(checkpoint, groups, 2, 8)
    params = {key: x.astype(np.float64) for key, x in checkpoint.params.items()}
    seen = run_ours(name, draw_inputs(name, checkpoint.config, n_seq=8), params, checkpoint.config, groups=groups)
    assert n_stage == len(seen.handed)
    assert peak_bytes > sum(seen.stages[stage].nbytes for stage in seen.handed)


def test_what_is_foretold_is_what_the_truth_takes(folders):
    checkpoint, groups = loaded(folders("bloom", "BloomForCausalLM"), "BloomForCausalLM")
    params = {key: x.astype(np.float64) for key, x in checkpoint.params.items()}
    ids = draw_inputs("bloom", checkpoint.config, n_seq=160)
    lifted = map_arrays(lambda x: spread(x, "float64"), (ids, params))
    tracemalloc.start()
    run_ours("bloom", *lifted, checkpoint.config, groups=groups)
    _, taken = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 < taken / (RUNNING * forward_bytes(checkpoint, groups, 2, 160)[0]) < 1.0


@pytest.mark.parametrize("name", ["bloom", "t5"])
def test_more_than_fits_is_refused_with_a_number_that_fits(name, folders):
    class_name = {"bloom": "BloomForCausalLM", "t5": "T5ForConditionalGeneration"}[name]
    checkpoint, groups = loaded(folders(name, class_name), class_name)
    for n_seq in (10**9, 3000):
        with pytest.raises(CheckpointError) as refused:
            check_memory(checkpoint, groups, 2, n_seq, 2**30)
        start, hint = str(refused.value).split("; about ")
        assert start.startswith(f"{n_seq} tokens need about ") and start.endswith("more than the limit of 1 GiB")
        longest = int(hint.removesuffix(" would do"))
        assert 100 < longest < 3000
        check_memory(checkpoint, groups, 2, int(0.99 * longest), 2**30)
        with pytest.raises(CheckpointError):
            check_memory(checkpoint, groups, 2, int(1.01 * longest) + 1, 2**30)
    with pytest.raises(CheckpointError, match=r"^2 tokens need about .* of memory, more than the limit of 0 B$"):
        check_memory(checkpoint, groups, 2, 2, 0)
    assert check_memory(checkpoint, groups, 2, 10**9) == check_memory(checkpoint, groups, 2, 3, 2**30) > 3
