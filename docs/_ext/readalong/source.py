"""Functions as they stand in their files: read by syntax tree, never imported, never copied by hand."""

import ast
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


class SourceError(ValueError):
    """A page asks for text that is not in the source."""


@dataclass(frozen=True)
class Function:
    """A function in a file.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        The function's name.
    lines : tuple of (int, str)
        Number and text of its lines, without the docstring.
    pullbacks : tuple of (int, int)
        First and last line of every inner function called ``pullback``, without its ``def`` line.
    """

    path: Path
    name: str
    lines: tuple
    pullbacks: tuple

    @property
    def where(self):
        """The path below the project, and the lines."""
        return f"{below_root(self.path)}, lines {self.lines[0][0]}–{self.lines[-1][0]}"

    def is_in_pullback(self, number):
        """Whether a line belongs to a pullback."""
        return any(first <= number <= last for first, last in self.pullbacks)

    def find(self, quoted):
        """Find quoted lines: each must be a whole line of the function, in the order of the text.

        Parameters
        ----------
        quoted : sequence of str
            Lines as a page quotes them; indentation and trailing comments do not count.

        Returns
        -------
        list of (int, str)
            The lines of the source.

        Raises
        ------
        SourceError
            If a line is not there, or not after the one before it.
        """
        # A line of the pullback may read like one of the forward: pages mostly walk through the pullback.
        for lines in ([line for line in self.lines if self.is_in_pullback(line[0])], self.lines):
            found, missing = _in_order(lines, quoted)
            if not missing:
                return found
        raise SourceError(f"{below_root(self.path)} has no line in {self.name} that reads: {missing}")


def below_root(path):
    """Name a file as people of the project do."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def bare(line):
    """Strip indentation and a trailing comment."""
    return line.split("  #")[0].strip()


def _in_order(lines, quoted):
    found, rest = [], iter(lines)
    for wanted in quoted:
        hit = next((line for line in rest if bare(line[1]) == bare(wanted)), None)
        if hit is None:
            return [], wanted.strip()
        found.append(hit)
    return found, None


def module_path(dotted):
    """Turn ``refimpl.layers.gelu`` into its file."""
    return ROOT.joinpath(*dotted.split(".")).with_suffix(".py")


@lru_cache
def _parse(path, stamp):
    text = path.read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def parsed(path):
    """Parse a file: its lines and its syntax tree."""
    if not path.is_file():
        raise SourceError(f"there is no file {path}")
    return _parse(path, path.stat().st_mtime_ns)


def function_in(path, name):
    """Find a top-level function.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        The function.

    Returns
    -------
    Function
        Its text.

    Raises
    ------
    SourceError
        If the file or the function is not there.
    """
    lines, tree = parsed(path)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            hidden = _docstring_lines(node)
            kept = range(node.lineno, node.end_lineno + 1)
            text = tuple((number, lines[number - 1]) for number in kept if number not in hidden)
            pullbacks = tuple((inner.body[0].lineno, inner.end_lineno) for inner in _pullbacks_of(node))
            return Function(path, name, text, pullbacks)
    raise SourceError(f"{below_root(path)} has no function {name}")


def component_names(path):
    """List the public functions of a file that define a pullback."""
    tree = parsed(path)[1]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node.name for node in functions if not node.name.startswith("_") and _pullbacks_of(node)]


def _pullbacks_of(node):
    return [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "pullback"]


def _docstring_lines(node):
    if ast.get_docstring(node) is None:
        return range(0)
    first = node.body[0]
    return range(first.lineno, first.end_lineno + 1)
