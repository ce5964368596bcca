"""Which names a function binds, and which ones its nested functions capture.

Closures capture names, not values: a name that a pullback reads must mean one thing for as long as it lives.
"""

import ast

from tests.contract.source import FUNCTIONS, own_nodes

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parameters(function):
    """The arguments of a function, positional ones first."""
    args = function.args
    starred = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *starred]


def positional(function):
    return [*function.args.posonlyargs, *function.args.args]


def targets(comprehension):
    """The names that a comprehension binds for itself."""
    nodes = (node for generator in comprehension.generators for node in ast.walk(generator.target))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def bindings(function):
    """Every (name, node, is it in a loop) that the body of a function binds, its arguments apart."""
    comprehended = {
        id(node)
        for comprehension in own_nodes(function)
        if isinstance(comprehension, COMPREHENSIONS)
        for generator in comprehension.generators
        for node in ast.walk(generator.target)
    }
    looped = {
        id(node)
        for loop in own_nodes(function)
        if isinstance(loop, (ast.For, ast.AsyncFor, ast.While, *COMPREHENSIONS))
        for node in ast.walk(loop)
    }
    return [
        (name, node, id(node) in looped)
        for node in own_nodes(function)
        if id(node) not in comprehended
        for name in _bound_by(node)
    ]


def _bound_by(node):
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []


def free_names(node):
    """The names that a piece of code reads from outside itself."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    inner = set().union(*(free_names(child) for child in ast.iter_child_nodes(node)))
    if isinstance(node, FUNCTIONS):
        own = {arg.arg for arg in parameters(node)} | {name for name, _, _ in bindings(node)}
        return inner - own
    if isinstance(node, COMPREHENSIONS):
        return inner - targets(node)
    return inner
