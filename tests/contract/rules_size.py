"""Rules on size, counted in lines of code: docstrings, comments and blank lines are free."""

import ast

from tests.contract.source import FUNCTIONS, body_without_docstring

MOST_IN_A_FILE = 149
MOST_IN_A_BODY = 39


def short_file(source):
    """One idea per file, in fewer than 150 lines of code."""
    n_line = len(source.code_lines)
    if n_line > MOST_IN_A_FILE:
        yield source.tree.body[0], f"{n_line} lines"


def short_functions(source):
    """The body of a function has fewer than 40 lines of code."""
    for function in (node for node in ast.walk(source.tree) if isinstance(node, FUNCTIONS)):
        body = [function] if isinstance(function, ast.Lambda) else body_without_docstring(function)
        n_line = len(source.code_lines & set(range(body[0].lineno, function.end_lineno + 1))) if body else 0
        if n_line > MOST_IN_A_BODY:
            yield function, f"{getattr(function, 'name', 'lambda')} has {n_line} lines"
