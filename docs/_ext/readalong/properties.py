"""``{properties}``: what the property tests promise, as one table, with the planted bugs they kill."""

import tomllib

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from readalong.source import ROOT
from readalong.tables import table

PROPERTIES = ROOT / "tests" / "properties" / "table.toml"
HEAD = ("", "property", "holds for", "planted bugs that it kills", "test")


def listed_properties(path=PROPERTIES):
    """Read the list.

    Parameters
    ----------
    path : Path, optional
        The file of the list.

    Returns
    -------
    list of dict
        Of every property: what it ``says``, what it holds ``on``, the bugs it ``kills``, its ``test`` and the tests in
        which the bugs are ``planted``, both as pytest names them below ``tests``.
    """
    return tomllib.loads(path.read_text(encoding="utf-8"))["property"]


class Properties(SphinxDirective):
    """One row a property, counted."""

    def run(self):
        self.env.note_dependency(str(PROPERTIES))
        rows = [
            (str(number), entry["says"], entry["on"], "; ".join(entry["kills"]), _test(entry["test"]))
            for number, entry in enumerate(listed_properties(), start=1)
        ]
        return [table(HEAD, rows, classes=["properties"])]


def _test(name):
    short = name.partition("::")[2]
    return nodes.literal(short, short)


def setup(app):
    """Register the directive."""
    app.add_directive("properties", Properties)
