"""Tables of docutils nodes."""

from docutils import nodes


def table(head, rows, classes=()):
    """Build a table.

    Parameters
    ----------
    head : sequence of str
        The titles of the columns.
    rows : sequence of sequence of (str or nodes.Node)
        The cells.
    classes : sequence of str, optional
        Classes for the style sheet.

    Returns
    -------
    nodes.container
        The table in a box that scrolls sideways on a narrow page.
    """
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    box = nodes.container(classes=["pst-scrollable-table-container"])
    box += nodes.table("", group, classes=list(classes))
    return box


def _row(cells):
    return nodes.row("", *[nodes.entry("", _cell(cell)) for cell in cells])


def _cell(cell):
    return nodes.paragraph("", "", cell if isinstance(cell, nodes.Node) else nodes.Text(cell))
