"""What single backticks mean in docstrings: code, and a link where the API reference knows the name."""

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxRole
from sphinx.util.nodes import make_refnode


class Name(SphinxRole):
    """A name in code, linked where it is one of ours; names of other libraries and arguments stay plain."""

    def run(self):
        link = pending_xref("", refdomain="", reftype="our_name", reftarget=self.text, refdoc=self.env.docname)
        link += nodes.literal(self.text, self.text, classes=["xref"])
        return [link], []


def _resolve(app, env, node, contnode):
    if node["reftype"] != "our_name":
        return None
    objects = env.domains.python_domain.objects
    name = node["reftarget"]
    hits = [full for full in objects if full == name or ("." not in name and full.endswith(f".{name}"))]
    kinds = ("function", "class", "exception", "module")
    hits = [full for full in hits if objects[full].objtype in kinds and not objects[full].aliased]
    if len(hits) != 1 or hits[0].rpartition(".")[2] in ("mask",):
        return contnode
    entry = objects[hits[0]]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, hits[0])


def _escape_stars(app, what, name, obj, options, lines):
    """Shapes such as ``(n, *shape)`` are types in a docstring, not the beginning of emphasis."""
    lines[:] = [line if "`" in line else re.sub(r"(?<=, )\*(?=\w+[),])", r"\\*", line) for line in lines]


def setup(app):
    """Register the role; the stars must be gone before numpydoc lays the sections out."""
    app.connect("autodoc-process-docstring", _escape_stars, priority=400)
    app.add_role("our_name", Name())
    app.connect("missing-reference", _resolve)
