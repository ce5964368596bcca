"""What a comparison found: one versioned JSON, and the forms in which people read it."""

from pathlib import Path

from compare.report import html, markdown, schema

__all__ = ["write_all"]


def write_all(report, folder):
    """Write a report in every form.

    Parameters
    ----------
    report : dict
        A report, encoded or not.
    folder : path-like
        Where to; made if need be.

    Returns
    -------
    list of Path
        ``report.json``, ``report.md``, ``report.html``.

    Raises
    ------
    ValueError
        If the report is not valid; nothing is written.
    OSError
        If the folder cannot be written to.
    """
    folder = Path(folder)
    paths = [folder / name for name in ("report.json", "report.md", "report.html")]
    # The JSON goes first: it cost the measurements, and the other two can be made from it again.
    report = schema.write(paths[0], report)
    schema.write_text(paths[1], markdown.render(report))
    schema.write_text(paths[2], html.render(report))
    return paths
