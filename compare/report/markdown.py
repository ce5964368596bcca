"""The report as Markdown, for a pull request or a wiki."""

import re

from tabulate import tabulate

from compare.report.summary import lines, not_passed
from compare.report.terminal import HEADERS, LEGEND, cells, detail, totals
from compare.report.words import printable


def render(report):
    """Write a report in Markdown.

    Parameters
    ----------
    report : dict
        A decoded report.

    Returns
    -------
    str
        Totals, what did not pass, one table a section, environment.
    """
    bad = not_passed(report)
    status = (
        "nothing was compared" if not report["cases"] else f"{len(bad)} did not pass" if bad else "all passed"
    )
    parts = [f"# Comparison report: {status}", escape(totals(report)).replace("\n", "  \n")]
    if bad:
        parts.append("## What did not pass")
        parts += [_failure(row) for row in bad]
    found = lines(report)
    for section in dict.fromkeys(line.section for line in found):
        body = [[escape(cell) for cell in cells(line)] for line in found if line.section == section]
        parts.append(f"## {escape(section)}")
        parts.append(_table(body, HEADERS, ("left", "left", "left", *["right"] * 4, "left")))
    parts.append(escape(LEGEND))
    parts += ["## Environment", _environment(report["environment"])]
    return "\n\n".join(parts) + "\n"


def escape(text):
    """Make a text show as itself in Markdown.

    Parameters
    ----------
    text : object
        Anything with a string form.

    Returns
    -------
    str
        Without markup or table separators that a renderer would act on. Line breaks are kept.
    """
    text = "\n".join(printable(line) for line in str(text).split("\n"))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # An underscore inside a word is text already, and names read better unescaped.
    text = re.sub(r"([\\`*|\[\]$#~]|(?<!\w)_|_(?!\w))", r"\\\1", text)
    return text.replace("://", ":\u200b//")


def _failure(row):
    name = " / ".join((row["case"], row["config"]["name"], row["dtype"], row["backend"], row["peer"]))
    said = [
        f"- **{label}** {_code(text) if label == 'repeat' else escape(text)}" for label, text in detail(row)
    ]
    return f"### {row['verdict']}: {escape(printable(name))}\n\n" + "\n".join(said)


def _code(text):
    # A fence longer than any run of backticks inside cannot be closed by the text.
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}"


def _environment(environment):
    packages = ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    shown = (
        "command",
        "started",
        "profile",
        "backend",
        "cpu",
        "cores",
        "threads",
        "platform",
        "python",
        "seed",
    )
    body = [(name, escape(environment[name]).replace("\n", " ")) for name in shown]
    return _table([*body, ("packages", escape(packages).replace("\n", " "))], ("", ""), ("left", "left"))


def _table(body, headers, aligned):
    return tabulate(body, headers, tablefmt="pipe", colalign=aligned, disable_numparse=True)
