from typer.main import get_command

from refimpl.commands.cli import app
from refimpl.commands.options import DEFAULTS, OF_METHOD, chosen


def test_every_option_of_a_method_is_an_option_of_the_command():
    parameters = {parameter.name for parameter in get_command(app).commands["generate"].params}
    assert {name for options in OF_METHOD.values() for name in options} <= parameters


def test_what_is_not_given_has_a_default():
    assert chosen("beam", {"beams": 7, "seed": None}, {"length_penalty": 0.5, "groups": 3}) == {
        "beams": 7, "length_penalty": 0.5, "early_stopping": "false", "returned": 1
    }  # fmt: skip
    assert set(DEFAULTS) <= {name for options in OF_METHOD.values() for name in options}
