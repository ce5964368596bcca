"""Rules on the shape of a component: `f(*arrays, params, *, settings) -> (y, pullback)`."""

import ast
import itertools

from tests.contract import numpydoc_types
from tests.contract.scopes import parameters, positional
from tests.contract.source import FUNCTIONS, is_public, nested_functions, own_nodes


def components(source):
    """Public functions that return a pullback, by their code or by their docstring."""
    return [
        function
        for function in filter(is_public, source.functions)
        if _pullback_of(function) or numpydoc_types.mentions_pullback(function)
    ]


def arrays_then_params(source):
    """The positional arguments of a component are its arrays, and `params` is the last of them."""
    for component in components(source):
        documented = numpydoc_types.types(component)
        names = [arg.arg for arg in positional(component)]
        for name in names:
            if not numpydoc_types.is_array(name, documented):
                yield component, f"{component.name} takes {name} by position"
        if "params" in names[:-1]:
            yield component, f"params is not the last positional argument of {component.name}"
        if component.args.vararg:
            yield component, f"{component.name} takes *{component.args.vararg.arg}"
        if any(not _is_none(default) for default in component.args.defaults):
            yield component, f"{component.name} has an array with a default other than None"


def keyword_arrays_have_no_gradient(source):
    """Masks and ids may be keywords; an array that has a gradient is positional, so that the gradient has a place."""
    for component in components(source):
        documented = numpydoc_types.types(component)
        for arg in component.args.kwonlyargs:
            if numpydoc_types.is_differentiable(arg.arg, documented):
                yield arg, f"{component.name} takes {arg.arg} by keyword"


def only_pullbacks_are_nested(source):
    """The one function inside a function is its `pullback`; a lambda made in a loop sees only the last round."""
    for function in (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)):
        for nested in nested_functions(function):
            if isinstance(nested, ast.Lambda) or nested.name != "pullback":
                yield nested, ast.unparse(nested).partition("\n")[0]


def pullback_stands_last(source):
    """A function with a pullback ends with `def pullback`, then `return y, pullback`, and returns nowhere else."""
    for function in filter(_pullback_of, source.functions):
        *_, before, last = [None, *function.body]
        if not (_returns_pair(last) and before is _pullback_of(function)):
            yield last, f"{function.name} ends with: {ast.unparse(last)}"
        for node in own_nodes(function):
            if isinstance(node, ast.Return) and node is not last:
                yield node, f"{function.name} also returns: {ast.unparse(node)}"


def pullback_takes_dy(source):
    """A pullback takes one argument, the gradient of y; whatever else it needs it captures."""
    for pullback in _pullbacks(source):
        if len(parameters(pullback)) != 1 or len(positional(pullback)) != 1 or pullback.args.defaults:
            yield pullback, f"pullback({ast.unparse(pullback.args)})"


def pullback_returns_a_tuple(source):
    """A pullback returns a tuple, `(dx,)` even for one gradient, so that nobody needs to look."""
    for pullback in _pullbacks(source):
        returns = [node for node in own_nodes(pullback) if isinstance(node, ast.Return)]
        if not returns:
            yield pullback, "no return"
        for node in returns:
            for value in _branches(node.value):
                if not isinstance(value, ast.Tuple) and not _calls_pullback(value):
                    yield node, ast.unparse(node)


def one_gradient_per_array(source):
    """A pullback returns one gradient for each floating positional array, or one less where such an array is absent."""
    for component, pullback in _documented_pullbacks(source):
        names = _differentiable(component)
        n_optional = len(component.args.defaults)
        for value in _returned_tuples(pullback):
            n_least = sum(not isinstance(entry, ast.Starred) for entry in value.elts)
            n_most = len(names) if n_least < len(value.elts) else n_least
            if n_least > len(names) or n_most < len(names) - n_optional:
                yield value, f"{component.name} has {len(names)} ({', '.join(names)}), got {ast.unparse(value)}"


def gradients_in_order(source):
    """Gradients stand in the order of their arrays: what is called `dx` stands where x stood."""
    for component, pullback in _documented_pullbacks(source):
        names = _differentiable(component)
        for value in _returned_tuples(pullback):
            # What stands behind a starred entry has a place that is known only when it runs.
            known = itertools.takewhile(lambda entry: not isinstance(entry, ast.Starred), value.elts)
            for place, entry in enumerate(known):
                name = entry.id.removeprefix("d") if isinstance(entry, ast.Name) else None
                if name in names and names.index(name) != place:
                    yield value, f"d{name} at place {place} of {ast.unparse(value)}"


def documented_components(source):
    """A component documents its Parameters and, under Returns, its pullback."""
    for component in filter(is_public, source.functions):
        if not _pullback_of(component):
            continue
        sections = numpydoc_types.sections(component)
        if not sections["Parameters"]:
            yield component, f"{component.name} has no Parameters"
        if not numpydoc_types.mentions_pullback(component):
            yield component, f"{component.name} does not say what its pullback returns"


def _pullback_of(function):
    named = [nested for nested in nested_functions(function) if getattr(nested, "name", "") == "pullback"]
    return named[-1] if named else None


def _pullbacks(source):
    nodes = (node for function in source.functions for node in ast.walk(function))
    return [node for node in nodes if isinstance(node, FUNCTIONS) and getattr(node, "name", "") == "pullback"]


def _documented_pullbacks(source):
    return [(component, _pullback_of(component)) for component in components(source) if _pullback_of(component)]


def _returned_tuples(pullback):
    returns = [node.value for node in own_nodes(pullback) if isinstance(node, ast.Return)]
    return [value for whole in returns for value in _branches(whole) if isinstance(value, ast.Tuple)]


def _branches(value):
    if isinstance(value, ast.IfExp):
        return [*_branches(value.body), *_branches(value.orelse)]
    return [value]


def _calls_pullback(value):
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id.endswith("_pullback")


def _returns_pair(statement):
    if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Tuple):
        return False
    entries = statement.value.elts
    return len(entries) == 2 and isinstance(entries[1], ast.Name) and entries[1].id == "pullback"


def _differentiable(component):
    documented = numpydoc_types.types(component)
    names = [arg.arg for arg in positional(component)]
    return [name for name in names if numpydoc_types.is_differentiable(name, documented)]


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None
