"""The read-along pages: our text quoted from its source, checked against one template."""

from pathlib import Path

from sphinx.util import logging

from readalong import api, measured, properties, quote, roles, template, words

logger = logging.getLogger(__name__)


def _check_pages(app):
    docs = Path(app.srcdir)
    for fault in template.faults_of_tree(docs / "components", docs.parent / "refimpl"):
        logger.warning(fault, type="readalong")


def setup(app):
    for part in (api, quote, measured, words, properties, roles):
        part.setup(app)
    app.connect("builder-inited", _check_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
