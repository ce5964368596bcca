"""Rules on names: what a pullback reads must be what its forward computed."""

import ast

from tests.contract.scopes import bindings, free_names, parameters
from tests.contract.source import FUNCTIONS, nested_functions


def captured_names_are_bound_once(source):
    """Closures capture names, not values: what a nested function reads is bound once, outside every loop."""
    for function in (node for node in ast.walk(source.tree) if isinstance(node, FUNCTIONS)):
        captured = set().union(*(free_names(nested) for nested in nested_functions(function)))
        seen = set()
        for name, node, looped in bindings(function):
            if name in captured and (looped or name in seen):
                yield node, f"{name} is bound {'in a loop' if looped else 'again'}"
            seen.add(name)


def parameters_keep_their_value(source):
    """An argument is never rebound: `x` means in the last line what the docstring says."""
    for function in (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)):
        names = {arg.arg for arg in parameters(function)}
        for name, node, _ in bindings(function):
            if name in names:
                yield node, f"{function.name} rebinds {name}"
