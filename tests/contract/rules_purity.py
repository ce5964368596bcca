"""Rules that keep a component pure: same arrays in, same arrays out, and nothing else changes."""

import ast

from tests.contract.scopes import bindings, parameters
from tests.contract.source import FUNCTIONS, own_nodes

MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove",
    "reverse", "setdefault", "sort", "update",
}
FRESH = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
FRESH_CALLS = {"dict", "list", "set", "sorted"}
SIDE_EFFECTS = {
    "breakpoint", "compile", "delattr", "eval", "exec", "globals", "input", "locals", "open", "print", "setattr",
    "vars",
}
RANDOM = {"RandomState", "SystemRandom", "default_rng", "getrandbits", "manual_seed", "randint", "randn", "random",
          "secrets", "seed", "shuffle", "urandom", "uuid4"}
CACHES = {"cache", "cached_property", "lru_cache", "memoize"}


def no_item_assignment(source):
    """Nothing is assigned into an array, a dict or an object: it may belong to the caller, or to a pullback."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node, ast.unparse(node)


def no_augmented_assignment(source):
    """No `+=` and the like: on an array it writes into memory that a pullback or the caller still reads."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.AugAssign):
            yield node, ast.unparse(node)


def no_del(source):
    """Nothing is deleted: a name lives as long as its function."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Delete):
            yield node, ast.unparse(node)


def no_out(source):
    """No `out=`: results are new arrays."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.keyword) and node.arg == "out":
            yield node.value, f"out={ast.unparse(node.value)}"


def no_global(source):
    """No `global` and no `nonlocal`: a pullback accumulates nothing and may be called twice."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield node, ast.unparse(node)


def mutates_only_its_own(source):
    """Lists and dicts are filled only by the function that made them: not arguments, module names or a closure's."""
    for function in (node for node in ast.walk(source.tree) if isinstance(node, FUNCTIONS)):
        own = _fresh_names(function)
        for node in own_nodes(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
                receiver = node.func.value
                if not (isinstance(receiver, ast.Name) and receiver.id in own):
                    yield node, ast.unparse(node)


def no_hidden_state(source):
    """A module holds constants, functions and frozen configurations; nothing is remembered from call to call."""
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    docstrings = {id(docstring) for docstring in source.docstrings}
    for node in source.tree.body:
        constant = isinstance(node, ast.Assign) and all(_is_constant(target) for target in node.targets)
        docstring = isinstance(node, ast.Expr) and id(node.value) in docstrings
        if not (isinstance(node, allowed) or constant or docstring):
            yield node, ast.unparse(node).partition("\n")[0]
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS):
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                if isinstance(default, (*FRESH, ast.Call)):
                    yield default, f"default {ast.unparse(default)}"
        if isinstance(node, (ast.Name, ast.Attribute, ast.alias)) and CACHES & set(_names(node)):
            yield node, ast.unparse(node)


def frozen_classes(source):
    """A component is a function; the only classes beside it are frozen dataclasses of sizes and settings."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if decorators != ["dataclass(frozen=True)"]:
                yield node, f"class {node.name}"


def no_side_effects(source):
    """A component prints nothing, opens nothing and evaluates no text."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and node.id in SIDE_EFFECTS:
            yield node, node.id


def no_randomness(source):
    """Randomness is an argument: a mask, or a parameter named `generator`; nothing else draws numbers."""
    drawn = {
        id(node)
        for function in source.functions
        if "generator" in {arg.arg for arg in parameters(function)}
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "generator"
    }
    for node in ast.walk(source.tree):
        named = isinstance(node, (ast.Name, ast.Attribute, ast.alias)) and RANDOM & set(_names(node))
        from_module = isinstance(node, ast.ImportFrom) and RANDOM & set((node.module or "").split("."))
        if (named and id(node) not in drawn) or from_module:
            yield node, ast.unparse(node)


def no_assert(source):
    """Bad input is a ValueError or a TypeError; `python -O` drops every assert."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assert):
            yield node, ast.unparse(node)


def plain_errors(source):
    """Components raise ValueError and TypeError, and let every error of what they call pass through."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if raised is None or ast.unparse(raised) not in ("TypeError", "ValueError"):
                yield node, ast.unparse(node)
        elif isinstance(node, ast.Try):
            yield node, "try"


def _fresh_names(function):
    bound = {name for name, _, _ in bindings(function)} if not isinstance(function, ast.Lambda) else set()
    fresh = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                fresh |= {name for name, value in _pairs(target, node.value) if _is_fresh(value)}
    return fresh & bound


def _pairs(target, value):
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [(t.id, v) for t, v in zip(target.elts, value.elts, strict=False) if isinstance(t, ast.Name)]
    return [(target.id, value)] if isinstance(target, ast.Name) else []


def _is_fresh(node):
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FRESH_CALLS
    return called or isinstance(node, FRESH)


def _is_constant(target):
    return isinstance(target, ast.Name) and target.id == target.id.upper()


def _names(node):
    if isinstance(node, ast.Name):
        return [node.id]
    return [node.attr] if isinstance(node, ast.Attribute) else [*node.name.split("."), node.asname]
