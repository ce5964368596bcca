import pytest

from refimpl.checkpoints.errors import MOST_FAULTS, CheckpointError, naming, raise_faults, refusal, shown


def test_a_refusal_is_a_value_error_naming_file_expected_and_got():
    error = refusal("a.safetensors", "this", "that")
    assert isinstance(error, ValueError)
    assert str(error) == "a.safetensors: expected this, got that"


def test_values_are_shown_short_and_escaped():
    assert shown("\x1b[0m\n") == r"'\x1b[0m\n'"
    assert shown("x" * 1000) == "'" + "x" * 76 + "..."


def test_faults_are_listed_and_the_rest_counted():
    raise_faults("nothing wrong", [])
    with pytest.raises(CheckpointError) as caught:
        raise_faults("wrong", [f"fault {number}" for number in range(MOST_FAULTS + 3)])
    lines = str(caught.value).splitlines()
    assert lines == ["wrong:", *(f"  fault {number}" for number in range(MOST_FAULTS)), "  and 3 more"]


def test_naming_puts_the_file_in_front():
    with pytest.raises(CheckpointError, match=r"^folder/a: wrong$"), naming("folder/a"):
        raise CheckpointError("wrong")
    with pytest.raises(KeyError), naming("folder/a"):
        raise KeyError("another kind of error passes as it is")
