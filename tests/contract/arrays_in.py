"""Which expressions of a component hold arrays, as far as that can be told without running it.

Told: documented array arguments, `dy`, items of `params`, results of ``xp.`` words and of the few array functions
beside them, and what operators make of these.  Not told: what other components and private helpers return.  The
strict interpretations of `compare` see those when the components run.
"""

import ast

from tests.contract import numpydoc_types
from tests.contract.scopes import parameters

ARRAY_FUNCTIONS = {"erf", "logsumexp", "scatter_add", "sum_to"}
SEQUENCE_WORDS = {"split"}
IDENTITY_TESTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def array_names(function):
    """The names in a component, its pullback included, that hold one array each."""
    documented = numpydoc_types.types(function)
    names = {
        arg.arg
        for arg in parameters(function)
        if documented.get(arg.arg, "").startswith("array") and arg not in (function.args.vararg, function.args.kwarg)
    }
    if not _returns_tuple(function):
        names |= {arg.arg for node in ast.walk(function) if _is_pullback(node) for arg in parameters(node)}
    while found := _assigned_arrays(function, names) - names:
        names |= found
    return names


def is_array(node, names):
    """Say whether an expression is known to be an array."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        return _returns_array(node)
    if isinstance(node, ast.Subscript):
        return is_array(node.value, names) or (isinstance(node.value, ast.Name) and node.value.id == "params")
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], IDENTITY_TESTS):
        return False
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
        condition = node.test if isinstance(node, ast.IfExp) else None
        return any(is_array(child, names) for child in ast.iter_child_nodes(node) if child is not condition)
    return False


def _returns_array(call):
    if isinstance(call.func, ast.Name):
        return call.func.id in ARRAY_FUNCTIONS
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "astype":
        return True
    on_namespace = isinstance(call.func.value, ast.Name) and call.func.value.id == "xp"
    return on_namespace and call.func.attr not in SEQUENCE_WORDS


def _assigned_arrays(function, names):
    pairs = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            pairs.extend((target, node.value) for target in node.targets)
    flat = [pair for target, value in pairs for pair in _pairwise(target, value)]
    return {target.id for target, value in flat if isinstance(target, ast.Name) and is_array(value, names)}


def _pairwise(target, value):
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _is_pullback(node):
    return isinstance(node, ast.FunctionDef) and node.name == "pullback"


def _returns_tuple(function):
    returns = numpydoc_types.sections(function)["Returns"]
    return any(entry.name == "y" and entry.type.startswith("tuple") for entry in returns)
