"""All rules, each a function of a file that yields every (node, detail) that breaks it.

The first line of a rule's docstring is the reason it gives.  The id of a rule is its name.
"""

from tests.contract import (
    rules_arrays,
    rules_component,
    rules_imports,
    rules_names,
    rules_namespace,
    rules_purity,
    rules_size,
)

COMPONENT_RULES = (
    rules_imports.no_array_library,
    rules_imports.few_imports,
    rules_imports.no_framework_names,
    rules_namespace.namespace_first,
    rules_namespace.namespace_of_every_array,
    rules_namespace.namespace_is_no_value,
    rules_namespace.words_of_the_vocabulary,
    rules_namespace.call_forms_of_the_vocabulary,
    rules_arrays.no_array_methods,
    rules_arrays.few_operators,
    rules_arrays.no_truth_of_arrays,
    rules_arrays.no_python_functions_of_arrays,
    rules_purity.no_item_assignment,
    rules_purity.no_augmented_assignment,
    rules_purity.no_del,
    rules_purity.no_out,
    rules_purity.no_global,
    rules_purity.mutates_only_its_own,
    rules_purity.no_hidden_state,
    rules_purity.frozen_classes,
    rules_purity.no_side_effects,
    rules_purity.no_randomness,
    rules_purity.no_assert,
    rules_purity.plain_errors,
    rules_names.captured_names_are_bound_once,
    rules_names.parameters_keep_their_value,
    rules_component.arrays_then_params,
    rules_component.keyword_arrays_have_no_gradient,
    rules_component.only_pullbacks_are_nested,
    rules_component.pullback_stands_last,
    rules_component.pullback_takes_dy,
    rules_component.pullback_returns_a_tuple,
    rules_component.one_gradient_per_array,
    rules_component.gradients_in_order,
    rules_component.documented_components,
)
SIZE_RULES = (rules_size.short_file, rules_size.short_functions)


def broken(source, rules):
    """Every breach of the rules in a file, as the pairs of a rule's id and a message with the place and reason."""
    return [
        (rule.__name__, f"{source.name}:{node.lineno}: [{rule.__name__}] {rule.__doc__} Got: {detail}")
        for rule in rules
        for node, detail in rule(source)
    ]
