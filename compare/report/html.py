"""The report as one HTML page that needs nothing from outside."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from compare.report import words
from compare.report.plots import PLOTS, embed, stylesheet
from compare.report.summary import (
    SIDES,
    VERDICTS,
    badness,
    counts,
    figures,
    gravest,
    lines,
    not_passed,
    sigma,
    worst,
    worst_element,
)
from compare.verdict.spread_rule import LIMIT

SHOWN = 20  # problems; the rest is folded away, so that the page stays a page
# Tensors of a row that are shown, by whether it passed; of thousands of rows they would be most of the page.
TENSORS = {True: 2, False: 6}
GLYPHS = dict(zip(VERDICTS, "✓~?✗!…†", strict=True))


def render(report):
    """Write a report as HTML.

    Parameters
    ----------
    report : dict
        A decoded report.

    Returns
    -------
    str
        A page: whether all is well, what did not pass, plots, a table of all cases, every figure.
    """
    # Numbers make ids: a name from the report may hold anything.
    report = {**report, "cases": [{**row, "number": number} for number, row in enumerate(report["cases"])]}
    return _template().render(
        environment=report["environment"],
        counts=counts(report),
        total=len(report["cases"]),
        limit=LIMIT,
        shown=SHOWN,
        glyphs=GLYPHS,
        tiles=_tiles(report),
        attention=[(row, worst_element(row)) for row in not_passed(report)],
        plots=[
            (name, title, text, Markup(embed(name, text, draw, report))) for name, title, text, draw in PLOTS
        ],
        plot_colours=stylesheet(),
        lines=lines(report),
        sections=_sections(report),
        sides=SIDES,
        tensors=_tensors,
        sigma=sigma,
    )


def _template():
    # Whatever comes from the report is escaped; the plots, made here, are the only markup let through.
    environment = Environment(
        loader=PackageLoader("compare.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_one_line,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = ("number", "sigmas", "pair", "tolerance", "ratio", "seconds", "scaled")
    environment.filters.update({name: getattr(words, name) for name in names}, sort=_sortable, indices=_indices)
    return environment.get_template("report.html.j2")


def _one_line(value):
    return words.printable(value) if type(value) is str else value


def _indices(value):
    # Without blanks, as they are many.
    return words.ABSENT if value is None else f"[{','.join(map(str, value))}]"


def _sortable(value):
    # A script compares these as numbers; NaN is the worst there is, what is absent comes before everything.
    if value is None:
        return "-1"
    return "Infinity" if value != value or value == float("inf") else repr(float(value))


def _tiles(report):
    """Make the few figures of the header: label, large text, small text, whether it is bad."""
    rows = report["cases"]
    tiles = []
    for kind in ("outputs", "gradients"):
        reference, peer = (sigma(rows, kind, side) for side in SIDES)
        small = f"peer {words.sigmas(peer)} σ, limit {LIMIT:g} σ"
        beyond = reference is not None and not reference <= LIMIT
        tiles.append((f"Largest error, {kind}", f"{words.sigmas(reference)} σ", small, beyond))
    memory = [row["memory"]["ratio"] for row in rows if row["memory"]]
    small = f"of the peer, median of {len(memory)}" if memory else "not measured"
    tiles.append(("Memory", words.ratio(words.median_ratio(memory)), small, False))
    timed = [row["throughput"] for row in rows if row["throughput"]]
    said = [timing["verdict"] for timing in timed]
    small = ", ".join(f"{said.count(word)} {word}" for word in dict.fromkeys(sorted(said))) or "not measured"
    tiles.append(("Time", words.ratio(words.median_ratio(timing["ratio"] for timing in timed)), small, False))
    time = report["environment"]["seconds"]
    tiles.append(
        ("Run", words.seconds(time["wall"]), f"harness overhead {time['overhead_share']:.0%}", False)
    )
    return tiles


def _sections(report):
    """Group rows: section, then case with its gravest verdict and counts."""
    tree = {}
    for row in report["cases"]:
        tree.setdefault(row["section"], {}).setdefault(row["case"], []).append(row)
    return [
        (
            section,
            [
                {
                    "name": case,
                    "title": rows[0]["title"],
                    "rows": rows,
                    "counts": counts({"cases": rows}),
                    "verdict": gravest(row["verdict"] for row in rows),
                    "sigma": worst(sigma(rows, kind, "reference") for kind in ("outputs", "gradients")),
                }
                for case, rows in cases.items()
            ],
        )
        for section, cases in tree.items()
    ]


def _tensors(row):
    """List what of a row's tensors is shown: kind, name, side and error figures; and all that is not."""
    found = [
        (kind, name, side, error)
        for kind in ("outputs", "gradients")
        for side in SIDES
        for name, error in figures(row, kind, side).items()
    ]
    found.sort(key=lambda item: badness(item[3]), reverse=True)
    failed = sum(not error["passed"] for *_, error in found)
    n_shown = max(failed, TENSORS[row["verdict"] == "PASS"])
    return found[:n_shown], found[n_shown:]
