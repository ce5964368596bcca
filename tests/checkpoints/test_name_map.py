import ml_dtypes
import numpy as np
import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.name_map import Row, to_ours, to_theirs

ROWS = [
    Row("qkv", ("q", "k", "v"), (2, 3), "body"),
    Row("out", ("dense",), (3, 4), "body"),
    Row("head.weight", ("cls.weight",), (5, 3), "head"),
    Row("head.bias", ("cls.bias",), (5,), "head"),
]


def their_tensors(dtype=np.float32, head=True):
    rng = np.random.default_rng(0)
    rows = [row for row in ROWS if head or row.group == "body"]
    return {name: rng.normal(size=row.shape).astype(dtype) for row in rows for name in row.theirs}


def map_to_ours(tensors):
    return to_ours(tensors, ROWS, required={"body"})


def map_to_theirs(params):
    return to_theirs(params, ROWS, required={"body"})


@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_there_and_back_is_the_identity_bit_for_bit(dtype, head):
    tensors = their_tensors(dtype, head)
    params = map_to_ours(tensors)
    assert list(params) == [row.ours for row in ROWS if head or row.group == "body"]
    assert params["qkv"].tobytes() == b"".join(tensors[name].tobytes() for name in "qkv")
    back = map_to_theirs(params)
    assert set(back) == set(tensors)
    for name, tensor in tensors.items():
        assert (back[name].dtype, back[name].shape) == (tensor.dtype, tensor.shape)
        assert back[name].tobytes() == tensor.tobytes()


def test_every_fault_is_named_in_one_error():
    tensors = their_tensors()
    del tensors["q"], tensors["cls.bias"]
    tensors["stray\n"] = np.zeros(3)
    tensors["dense"] = tensors["dense"].T
    tensors["v"] = np.zeros((3, 3), np.int32)
    before = dict(tensors)
    with pytest.raises(CheckpointError) as caught:
        map_to_ours(tensors)
    assert str(caught.value).splitlines() == [
        "tensors do not fit the configuration:",
        "  missing q of shape (2, 3)",
        "  missing cls.bias of shape (5,)",
        r"  unexpected 'stray\n'",
        "  v must have shape (2, 3), got (3, 3)",
        "  v must hold real floats, got int32",
        "  dense must have shape (3, 4), got (4, 3), probably transposed",
        "  k, v must share a dtype, got {'k': 'float32', 'v': 'int32'}",
    ]
    assert tensors == before


def test_faults_of_our_parameters_are_named_too():
    params = map_to_ours(their_tensors())
    params["qkv"] = params["qkv"].T
    params["other"] = params.pop("out")
    with pytest.raises(CheckpointError) as caught:
        map_to_theirs(params)
    assert str(caught.value).splitlines() == [
        "parameters do not fit the configuration:",
        "  missing out of shape (3, 4)",
        "  unexpected 'other'",
        "  qkv must have shape (6, 3), got (3, 6), probably transposed",
    ]


def test_many_faults_are_capped():
    with pytest.raises(CheckpointError, match=r"and 80 more$"):
        map_to_ours({**their_tensors(), **{f"stray{number}": np.zeros(1) for number in range(100)}})


@pytest.mark.parametrize("dtype", [np.complex64, np.bool_, np.uint8])
def test_weights_are_real_floats(dtype):
    with pytest.raises(CheckpointError, match="dense must hold real floats, got "):
        map_to_ours({**their_tensors(), "dense": np.zeros((3, 4), dtype)})


def test_tensors_to_be_stacked_share_a_dtype():
    tensors = their_tensors()
    tensors["k"] = tensors["k"].astype(np.float64)
    with pytest.raises(CheckpointError, match="q, k, v must share a dtype, got "):
        map_to_ours(tensors)


def test_a_group_is_there_as_a_whole_or_not_at_all():
    map_to_ours(their_tensors(head=False))
    tensors = their_tensors()
    del tensors["cls.weight"]
    with pytest.raises(CheckpointError, match="missing cls"):
        map_to_ours(tensors)


def test_nothing_at_all_misses_the_required_group_only():
    with pytest.raises(CheckpointError) as caught:
        map_to_ours({})
    assert [line.split()[1] for line in str(caught.value).splitlines()[1:]] == ["q", "k", "v", "dense"]


ARRANGED = [
    Row("fc", ("c_fc",), (3, 4), "body", transposed=True),
    Row("qkv", ("query_key_value",), (2 * 3 * 5, 4), "body", n_head=2),
    Row("up", ("experts.0.w1", "experts.1.w1"), (6, 4), "body", stacked=True),
    Row("both", ("a", "b"), (2, 3, 4), "body", transposed=True),
]


def arranged_tensors():
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=row.shape) for row in ARRANGED for name in row.theirs}


def test_every_arrangement_is_what_it_says():
    theirs = arranged_tensors()
    ours = to_ours(theirs, ARRANGED, required={"body"})
    assert {key: value.shape for key, value in ours.items()} == {row.ours: row.our_shape for row in ARRANGED}
    assert np.array_equal(ours["fc"], theirs["c_fc"].T)
    for part in range(3):
        for head in range(2):
            their_rows = theirs["query_key_value"][(head * 3 + part) * 5 :][:5]
            assert np.array_equal(ours["qkv"][(part * 2 + head) * 5 :][:5], their_rows)
    assert np.array_equal(ours["up"][1], theirs["experts.1.w1"])
    assert np.array_equal(ours["both"][2:], np.swapaxes(theirs["b"], 1, 2))


def test_every_arrangement_goes_back_bit_for_bit():
    theirs = arranged_tensors()
    back = to_theirs(to_ours(theirs, ARRANGED, required={"body"}), ARRANGED, required={"body"})
    assert back.keys() == theirs.keys()
    assert all(np.array_equal(back[name], theirs[name]) for name in theirs)


def test_an_arranged_tensor_of_another_shape_is_named_as_the_file_has_it():
    theirs = arranged_tensors()
    theirs["c_fc"] = theirs["c_fc"].T
    with pytest.raises(CheckpointError, match=r"c_fc must have shape \(3, 4\), got \(4, 3\), probably transposed"):
        to_ours(theirs, ARRANGED, required={"body"})
