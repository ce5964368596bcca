import pytest

from refimpl.checkpoints.settings_map import count_labels, not_accepted, not_choices, not_numbers, not_sizes


@pytest.mark.parametrize("settings", [{}, {"scale": None}, {"scale": True}])
def test_accepted_values_have_no_fault(settings):
    assert not_accepted(settings, {"scale": (None, True)}) == []


@pytest.mark.parametrize(("got", "shown"), [(1, "1"), (False, "False"), ("x\n", r"'x\n'"), ([], "[]")])
def test_another_value_is_refused_by_key_and_value(got, shown):
    assert not_accepted({"scale": got}, {"scale": (None, True)}) == [f"scale must be absent or True, got {shown}"]


def test_an_absent_key_that_must_be_there():
    assert not_accepted({}, {"model_type": ("bert",)}) == ["model_type must be 'bert', got nothing"]


@pytest.mark.parametrize("got", [0, -1, 2**31, 1.0, True, "1", None])
def test_what_is_no_size(got):
    [fault] = not_sizes({"n": got}, ["n"])
    assert fault.startswith("n must be an integer from 1 to 2147483647, got ")


def test_sizes_missing_and_too_large():
    assert not_sizes({"b": 6}, ["a", "b"], largest={"b": 5}) == [
        "a is missing",
        "b must be an integer from 1 to 5, got 6",
    ]
    assert not_sizes({"a": 0}, ["a"], at_least=0) == []


@pytest.mark.parametrize("got", ["swish", 3, None, ["gelu"]])
def test_what_is_no_choice(got):
    [fault] = not_choices({"act": got}, {"act": ("gelu", "relu")})
    assert fault.startswith("act must be one of gelu, relu, got ")


@pytest.mark.parametrize("got", [0, 1, -1e-5, True, "1e-5", float("nan")])
def test_what_is_no_number_in_the_range(got):
    assert len(not_numbers({"eps": got}, {"eps": (0, 1)})) == 1
    assert not_numbers({"eps": 1e-5}, {"eps": (0, 1)}) == []


def test_labels_are_counted_by_name_or_number():
    assert count_labels({}) == (2, [])
    assert count_labels({"num_labels": 3}) == (3, [])
    assert count_labels({"id2label": {"0": "a", "1": "b", "2": "c"}, "num_labels": 3}) == (3, [])
    assert count_labels({"id2label": {"0": "a"}, "num_labels": 3})[1]
    assert count_labels({"id2label": []})[1]
    assert count_labels({"num_labels": True})[1]
