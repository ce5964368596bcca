"""``{vocabulary}``: the closed list of array functions as a table, grouped as its file groups them."""

import ast

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from readalong.source import module_path, parsed
from readalong.tables import table


def grouped_words(path):
    """Read the vocabulary with the comments that head its groups.

    Parameters
    ----------
    path : Path
        The file that assigns ``VOCABULARY``.

    Returns
    -------
    list of (str, list of (str, str))
        Each group's comment, and its words with what they promise.
    """
    lines, tree = parsed(path)
    assignment = next(node for node in tree.body if isinstance(node, ast.Assign))
    groups = []
    for key, value in zip(assignment.value.keys, assignment.value.values, strict=True):
        above = lines[key.lineno - 2].strip()
        if above.startswith("#"):
            groups.append((above.lstrip("# "), []))
        groups[-1][1].append((key.value, value.value))
    return groups


class Vocabulary(SphinxDirective):
    """All words, one table a group."""

    def run(self):
        path = module_path("refimpl.arrays.vocabulary")
        self.env.note_dependency(str(path))
        shown = []
        for title, words in grouped_words(path):
            shown.append(nodes.rubric("", title[0].upper() + title[1:]))
            rows = [(nodes.literal(word, word), promise) for word, promise in words]
            shown.append(table(("word", "call form and promise"), rows, classes=["words"]))
        return shown


def setup(app):
    """Register the directive."""
    app.add_directive("vocabulary", Vocabulary)
