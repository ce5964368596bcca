"""Every property of every component."""

from tests.properties import checks
from tests.properties.examples import for_each, run
from tests.properties.registry import CURVED


@for_each()
def test_adjoint_identity(component):
    run(checks.adjoint_identity, component)


@for_each()
def test_the_pullback_is_linear(component):
    run(checks.linear_pullback, component)


@for_each()
def test_T1_a_second_call_gives_the_same_bits(component):
    run(checks.pure, component)


@for_each()
def test_inputs_are_never_mutated_and_outputs_never_aliased(component):
    run(checks.untouched, component)


@for_each()
def test_shapes_and_dtypes(component):
    run(checks.shapes_and_dtypes, component)


@for_each()
def test_every_dtype_stays_within_its_spread(component):
    run(checks.within_the_spread, component)


@for_each()
def test_memory_layout_means_nothing(component):
    run(checks.indifferent_to_layout, component)


@for_each()
def test_batch_order_means_nothing(component):
    run(checks.indifferent_to_batch_order, component)


@for_each()
def test_an_empty_batch_gives_an_empty_batch(component):
    run(checks.happy_with_nothing, component)


@for_each()
def test_autograd_agrees(component):
    run(checks.agrees_with_autograd, component)


@for_each(CURVED)
def test_second_derivatives_agree(component):
    run(checks.second_derivative, component)
