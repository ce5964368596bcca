"""What strangers' exceptions say fits into a report."""

from compare.measure.message import LONGEST, message


def test_class_and_words():
    assert message(LookupError("nothing there")) == "LookupError: nothing there"


def test_a_message_without_end_is_cut():
    said = message(ValueError("x" * 5_000_000))
    assert len(said) < LONGEST + 50
    assert said.endswith("… (5000000 characters)")


def test_an_exception_that_cannot_be_printed_still_has_a_name():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert message(Mute()) == "Mute: its message cannot be shown: RuntimeError"
