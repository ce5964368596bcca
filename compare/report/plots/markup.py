"""A plot as markup: SVG where it is small, two pictures where it is not."""

import base64
import io
import re
from dataclasses import asdict
from html import escape

from compare.report.plots.canvas import DARK, LIGHT, STAND_IN, settings

SVG_LIMIT = 400_000  # bytes; beyond it a picture is smaller and quicker to show


def embed(name, description, draw, report):
    """Draw a plot as HTML that needs nothing from outside.

    Parameters
    ----------
    name : str
        Prefix of all ids in the markup; no two plots of a page may share it.
    description : str
        What a reader who cannot see it is told.
    draw : callable
        ``draw(report, palette) -> Figure``.
    report : dict
        A decoded report.

    Returns
    -------
    str
        An ``<svg>`` in the colours of the page, or a ``<picture>`` with one PNG for each theme.
    """
    svg = _svg(name, description, draw, report)
    return svg if len(svg) <= SVG_LIMIT else _picture(description, draw, report)


def _svg(name, description, draw, report):
    with settings():
        buffer = io.StringIO()
        draw(report, STAND_IN).savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    for role, colour in asdict(STAND_IN).items():
        text = text.replace(colour, f"var(--plot-{role})")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Inside HTML the namespaces are known, and these addresses are all that looks like the network.
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'\s(width|height)="[\d.]+pt"', "", text, count=2)
    # Comments repeat the text below them, and a hundredth of a point is less than anyone sees.
    text = re.sub(r"<!--.*?-->\s*|(?<=>)\n\s*(?=<)", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text)
    # Several plots share a page, so ids get a prefix, in their definitions and wherever they are used.
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\1{name}-", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1).strip()


def _picture(description, draw, report):
    light, dark = (_png(draw, report, palette) for palette in (LIGHT, DARK))
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(description)}"></picture>'
    )


def _png(draw, report, palette):
    with settings():
        buffer = io.BytesIO()
        draw(report, palette).savefig(buffer, format="png", dpi=150)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
