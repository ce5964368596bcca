"""One file of Python under the eyes of the rules."""

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import cached_property

BLANK_TOKENS = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}


@dataclass(frozen=True)
class Source:
    """A file's name and text, and what they parse to."""

    name: str
    text: str

    @cached_property
    def tree(self):
        return ast.parse(self.text, self.name)

    @cached_property
    def functions(self):
        """The functions at the top of the module, which are its components and their helpers."""
        return [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]

    @cached_property
    def docstrings(self):
        """The docstring nodes, wherever they stand."""
        holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        return [
            node.body[0].value
            for node in ast.walk(self.tree)
            if isinstance(node, holders) and ast.get_docstring(node, clean=False) is not None
        ]

    @cached_property
    def code_lines(self):
        """The numbers of the lines that hold code: no docstring, no comment, no blank line."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        held = set()
        for token in tokens:
            if token.type not in BLANK_TOKENS:
                held.update(range(token.start[0], token.end[0] + 1))
        for docstring in self.docstrings:
            held.difference_update(range(docstring.lineno, docstring.end_lineno + 1))
        return held


def read(path, root):
    return Source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def python_files(root, *folders):
    paths = (path for folder in folders for path in sorted((root / folder).rglob("*.py")))
    return [read(path, root) for path in paths]


def body_without_docstring(function):
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def is_public(function):
    return not function.name.startswith("_")


def nested_functions(function):
    """Functions inside this one, but not inside those."""
    return [node for node in own_nodes(function) if isinstance(node, FUNCTIONS)]


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def own_nodes(function):
    """All nodes of a function's body; nested functions are named but not entered."""
    body = function.body if isinstance(function.body, list) else [function.body]
    pending = list(reversed(body))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            pending.extend(reversed(list(ast.iter_child_nodes(node))))
