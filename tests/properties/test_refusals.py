"""Every component refuses bad input as the contract says."""

from tests.properties.examples import for_each, run
from tests.properties.refusals import refuses_bad_gradients, refuses_bad_input


@for_each()
def test_bad_input_is_refused_by_name(component):
    run(refuses_bad_input, component, weight=6)


@for_each()
def test_a_gradient_of_something_else_is_refused_by_name(component):
    run(refuses_bad_gradients, component, weight=20)
