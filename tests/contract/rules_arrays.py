"""Rules on what may be done with an array, besides calling a word of the vocabulary."""

import ast

import numpy as np

from tests.contract.arrays_in import array_names, is_array

ATTRIBUTES = {"shape", "ndim", "dtype", "astype"}
METHODS = {name for name in dir(np.ndarray) if not name.startswith("__")} - ATTRIBUTES
DUNDERS = {name for name in dir(np.ndarray) if name.startswith("__")}
OTHER_LIBRARIES = {"at", "detach", "numpy", "permute", "rank", "set", "view_as"}
OPERATORS = (ast.FloorDiv, ast.Mod, ast.BitXor, ast.LShift, ast.RShift)
PYTHON_FUNCTIONS = {
    "abs", "all", "any", "bool", "complex", "divmod", "enumerate", "float", "iter", "len", "list", "map", "max", "min",
    "pow", "reversed", "round", "set", "sorted", "sum", "tuple", "zip",
}


def no_array_methods(source):
    """Arrays have the attributes shape, ndim and dtype and the method astype; the rest differs between libraries."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Store):
            continue
        on_namespace = isinstance(node.value, ast.Name) and node.value.id in ("xp", "math")
        if not on_namespace and node.attr in METHODS | DUNDERS | OTHER_LIBRARIES:
            yield node, ast.unparse(node)


def few_operators(source):
    """Arrays meet in + - * / and comparisons, masks in & | ~; a product is xp.matmul, a square x * x."""
    for node in ast.walk(source.tree):
        strange = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.MatMult, ast.Pow))
        if strange and not (_is_number(node.left) and _is_number(node.right)):
            yield node, ast.unparse(node)
    for function in source.functions:
        names = array_names(function)
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, OPERATORS) and is_array(node, names):
                yield node, ast.unparse(node)


def no_truth_of_arrays(source):
    """An array is neither true nor false: no `if`, `and`, `or`, `not`, loop or chained comparison over arrays."""
    for function in source.functions:
        names = array_names(function)
        for node in ast.walk(function):
            for condition in _conditions(node):
                if is_array(condition, names):
                    yield condition, ast.unparse(node).partition("\n")[0]


def no_python_functions_of_arrays(source):
    """Python's own functions and those of `math` take an array apart or off its device; int counts, and is allowed."""
    for function in source.functions:
        names = array_names(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _is_python_function(node.func):
                arguments = [arg.value if isinstance(arg, ast.Starred) else arg for arg in node.args]
                if any(is_array(argument, names) for argument in arguments):
                    yield node, ast.unparse(node)


def _conditions(node):
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.comprehension):
        return [node.iter, *node.ifs]
    if isinstance(node, ast.For):
        return [node.iter]
    return [node] if isinstance(node, ast.Compare) and len(node.ops) > 1 else []


def _is_python_function(func):
    if isinstance(func, ast.Attribute):
        return isinstance(func.value, ast.Name) and func.value.id == "math"
    return isinstance(func, ast.Name) and func.id in PYTHON_FUNCTIONS


def _is_number(node):
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant)
