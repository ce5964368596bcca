"""Rules on what a component may reach for."""

import ast
import re

ARRAY_LIBRARIES = {
    "autograd", "cupy", "cupyx", "dask", "flax", "jax", "ml_dtypes", "mlx", "mpmath", "numba", "numexpr", "numpy",
    "scipy", "tensorflow", "torch", "transformers",
}
MODULES = {"collections.abc", "dataclasses", "enum", "functools", "itertools", "math", "refimpl", "typing"}
IMPORTERS = {"__import__", "import_module"}
FRAMEWORKS = {
    "autograd", "cupy", "flax", "hf", "hugging", "huggingface", "jax", "keras", "mlx", "np", "numpy", "paddle",
    "pytorch", "scipy", "tensorflow", "tf", "theano", "thinc", "torch", "transformers",
}


def no_array_library(source):
    """A component finds its array library by the arrays that flow in, and imports none."""
    for node, module in _imports(source.tree):
        if module.partition(".")[0] in ARRAY_LIBRARIES:
            yield node, module
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and _last_name(node) in IMPORTERS:
            yield node, _last_name(node)


def few_imports(source):
    """A component imports refimpl and a few modules of the standard library that keep no state."""
    for node, module in _imports(source.tree):
        root = module.partition(".")[0]
        if root not in ARRAY_LIBRARIES and module not in MODULES and root not in MODULES:
            yield node, module


def no_framework_names(source):
    """Code is named after the mathematics; other frameworks are named in docstrings and comments only."""
    prose = {id(docstring) for docstring in source.docstrings}
    for node in ast.walk(source.tree):
        for text in [] if id(node) in prose else _texts(node):
            for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text):
                if word.lower() in FRAMEWORKS:
                    yield node, word


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays inside refimpl.
            yield node, "refimpl" if node.level else node.module


def _last_name(node):
    return node.id if isinstance(node, ast.Name) else node.attr


def _texts(node):
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    fields = ("id", "attr", "arg", "name", "asname")
    if isinstance(node, ast.alias):
        fields = ("asname",)  # the imported name is for the rules above
    return [value for field in fields if isinstance(value := getattr(node, field, None), str)]
