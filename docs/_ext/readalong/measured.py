"""``{measured} case …``: the last measured errors, read from a report or from its committed summary."""

import json

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from readalong.source import ROOT
from readalong.summary import SCHEMA, summarise
from readalong.tables import table

REPORT = ROOT / "reports" / "latest" / "report.json"
SNAPSHOT = ROOT / "docs" / "data" / "measured.json"
HEAD = (
    "dtype",
    "compared with",
    "passed",
    "error here, σ",
    "error there, σ",
    "least tolerance here",
    "least tolerance there",
)


def find_summary(case, *, report=REPORT, snapshot=SNAPSHOT):
    """Find what was measured last about a case.

    Parameters
    ----------
    case : str
        Its name.
    report, snapshot : Path, optional
        A report of this checkout comes before the committed summary.

    Returns
    -------
    tuple of (dict, dict) or None
        The environment and the case's figures; None where neither file knows the case.
    """
    if report.is_file():
        summary = summarise(json.loads(report.read_text(encoding="utf-8")))
        if case in summary["cases"]:
            return summary["environment"], summary["cases"][case]
    if snapshot.is_file():
        summary = json.loads(snapshot.read_text(encoding="utf-8"))
        if summary["schema"] != SCHEMA:
            raise ValueError(f"{snapshot} must have schema {SCHEMA}, got {summary['schema']}")
        if case in summary["cases"]:
            return summary["environment"], summary["cases"][case]
    return None


class Measured(SphinxDirective):
    """One table for each case, and where and when it was measured."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        for path in (REPORT, SNAPSHOT):
            self.env.note_dependency(str(path))
        shown, environments = [], []
        for case in self.arguments[0].split():
            found = find_summary(case)
            if found is None:
                text = f"{case} is in no report yet; refcompare run {case} measures it."
                shown.append(nodes.paragraph("", text, classes=["not-measured"]))
                continue
            environment, figures = found
            environments += [] if environment in environments else [environment]
            shown += _case(case, figures)
        return shown + [_environment(environment) for environment in environments]


def _case(case, figures):
    caption = nodes.paragraph("", "", classes=["measured-case"])
    caption += [nodes.Text("Case "), nodes.literal(case, case)]
    rows = [
        (
            row["dtype"],
            row["peer"],
            f"{row['passed']} of {row['judged']}",
            _number(row["reference_sigma"]),
            _number(row["peer_sigma"]),
            _number(row["reference_tolerance"]),
            _number(row["peer_tolerance"]),
        )
        for row in figures["errors"]
    ]
    return [caption, table(HEAD, rows, classes=["measured"]), *_cost(figures)]


def _cost(figures):
    sentences = []
    for row in figures["costs"]:
        what = f"{row['config']} in {row['dtype']} against {row['peer']}"
        if row["time_ratio"] is not None:
            sentences.append(f"Time, {what}: {row['time_ratio']:.2f} times ({row['time_verdict']}).")
        if row["memory_ratio"] is not None:
            sentences.append(f"Peak memory, {what}: {row['memory_ratio']:.2f} times.")
    return [nodes.paragraph("", " ".join(sentences), classes=["measured-cost"])] if sentences else []


def _environment(environment):
    packages = ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    text = (
        f"Measured on {environment['date']}: {environment['cpu']}, {environment['cores']} cores, "
        f"Python {environment['python']}, {packages}; seed {environment['seed']}. "
        "Here: this text. There: what it is compared with. σ: see “How the comparison works”; the limit is 10."
    )
    return nodes.paragraph("", text, classes=["measured-where"])


def _number(value):
    if value is None:
        return "–"
    return f"{float(value):.2g}" if float(value) else "0"


def setup(app):
    """Register the directive."""
    app.add_directive("measured", Measured)
