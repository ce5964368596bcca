"""The one report that everything else is derived from: its schema, and its file on disk."""

import json
import math
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import fastjsonschema
from fastjsonschema import JsonSchemaValueException
from jsonschema import Draft202012Validator

from compare.report.rounding import round_figures
from refimpl.checkpoints.files.atomic import atomic_files

SCHEMA = "refimpl-compare/1"

# JSON has no infinities and no NaN; these stand for them, and only in the fields named below, so that a
# reason or a case that happens to be called "nan" stays text.
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
NUMBER_FIELDS = frozenset(
    "sigma_max sigma_q999 ulp_max abs_max rel_max cosine worst_value worst_truth min_tolerance "
    "ratio ratio_low ratio_high".split()
)


def row_key(row):
    """Name what a row compares; no two rows of a report share it.

    Parameters
    ----------
    row : dict
        One element of ``report["cases"]``.

    Returns
    -------
    tuple of str
        Case, configuration name, dtype, backend, peer.
    """
    return row["case"], row["config"]["name"], row["dtype"], row["backend"], row["peer"]


def encode(value):
    """Make a value representable in JSON.

    Parameters
    ----------
    value : object
        Nested dicts, lists and tuples of strings, booleans, numbers (NumPy scalars too) and None.

    Returns
    -------
    object
        The same with lists for tuples, Python numbers for NumPy scalars, and ``"inf"``, ``"-inf"``,
        ``"nan"`` for floats that are not finite.  What is no character (half of a surrogate pair) is spelled out.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {encode(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        value = value.item() if value.dtype.kind in "biu" else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def decode(value):
    """Undo `encode` in the fields that hold numbers.

    Parameters
    ----------
    value : object
        A report, or any part of one that is a dict or a list.

    Returns
    -------
    object
        The same with floats for ``"inf"``, ``"-inf"`` and ``"nan"`` in number fields.
    """
    if isinstance(value, dict):
        return {
            key: NON_FINITE.get(item, item)
            if key in NUMBER_FIELDS and isinstance(item, str)
            else decode(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value


def problems(report):
    """List everything in which a report departs from the schema.

    Parameters
    ----------
    report : object
        A report, encoded or not.

    Returns
    -------
    list of str
        One line a problem, naming the path, what was expected and what was found.
    """
    return _problems(encode(report))


def _problems(report):
    version = report.get("schema") if isinstance(report, dict) else None
    if isinstance(report, dict) and version != SCHEMA:
        # Under another version every further complaint would be noise.
        return [f"report.schema must be {SCHEMA!r}, got {_short(version)}"]
    try:
        _quick_check()(report)
    except JsonSchemaValueException:
        # It stops at the first problem, in words of its own.
        found = [_describe(error) for error in _validator().iter_errors(report)]
        if found:
            return found
    return _repeated_rows(report)


def validate(report):
    """Refuse a report that departs from the schema.

    Parameters
    ----------
    report : object
        A report, encoded or not.

    Raises
    ------
    ValueError
        Naming the path, what was expected and what was found, for the first problems and their number.
    """
    _refuse(problems(report))


def _refuse(found):
    if found:
        lead = "not a valid report:" + ("\n" if len(found) > 1 else " ")
        more = f"\n... and {len(found) - 10} more" if len(found) > 10 else ""
        raise ValueError(lead + "\n".join(found[:10]) + more)


def read(path):
    """Read a report.

    Parameters
    ----------
    path : path-like
        A file that `write` wrote.

    Returns
    -------
    dict
        The report, valid and decoded.

    Raises
    ------
    ValueError
        If the file is not JSON or not a valid report.
    OSError
        If the file cannot be read.
    """
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # the latter where lists are nested without end
        raise ValueError(f"{path} must be a JSON report, got {error}") from None
    try:
        _refuse(_problems(report))  # as it is: what comes from a JSON file is encoded
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return decode(report)


def write(path, report):
    """Write a report, whole or not at all.

    Parameters
    ----------
    path : path-like
        The file; its folder is made if need be.
    report : dict
        A report, encoded or not.

    Returns
    -------
    dict
        The report as the file holds it, its figures rounded by `round_figures`, decoded.

    Raises
    ------
    ValueError
        If the report is not valid; nothing is written.
    OSError
        If the folder cannot be written to; a file that was there before is left as it was.
    """
    report = encode(report)
    _refuse(_problems(report))
    round_figures(report)
    write_text(path, _dumps(report))
    return decode(report)


def write_text(path, text):
    """Write a text file, whole or not at all.

    Parameters
    ----------
    path : path-like
        The file; its folder is made if need be.
    text : str
        What it shall hold.

    Raises
    ------
    OSError
        One sentence naming the file; a file that was there before is left as it was.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_files(path.parent, [path.name]) as (aside,):
            aside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def _dumps(report):
    # A line a row: a text tool sees which rows changed, and indented figures would double the file.
    compact = partial(json.dumps, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    head = "".join(f"{compact(name)}:{compact(report[name])},\n" for name in ("schema", "environment"))
    return "{" + head + '"cases":[\n' + ",\n".join(map(compact, report["cases"])) + "\n]}\n"


@cache
def _schema():
    return json.loads(files(__package__).joinpath("report.schema.json").read_text(encoding="utf-8"))


@cache
def _validator():
    return Draft202012Validator(_schema())


@cache
def _quick_check():
    # Compiled for draft 7, as which every rule of this schema reads the same; fifty times as fast.
    draft_7 = {**_schema(), "$schema": "http://json-schema.org/draft-07/schema#"}
    return fastjsonschema.compile(draft_7, use_default=False)


def _describe(error):
    path = "report" + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path
    )
    rule, wanted, got = error.validator, error.validator_value, _short(error.instance)
    if rule == "required":
        missing = [name for name in wanted if name not in error.instance]
        return f"{path} must have {', '.join(missing)}, got {_short(sorted(error.instance))}"
    if rule == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = [name for name in error.instance if name not in known]
        return f"{path} must have no field but {', '.join(known)}, got {_short(unknown)}"
    expected = {
        "type": lambda: "of type " + (" or ".join(wanted) if isinstance(wanted, list) else wanted),
        "enum": lambda: "one of " + ", ".join(wanted),
        "const": lambda: repr(wanted),
        "pattern": lambda: "a number, 'inf', '-inf' or 'nan'",
        "minimum": lambda: f"at least {wanted}",
        "exclusiveMinimum": lambda: f"greater than {wanted}",
        "minLength": lambda: "a text that is not empty",
    }[rule]()
    return f"{path} must be {expected}, got {got}"


def _repeated_rows(report):
    seen, found = {}, []
    for index, row in enumerate(report["cases"]):
        first = seen.setdefault(row_key(row), index)
        if first != index:
            same = " / ".join(row_key(row))
            found.append(f"report.cases[{index}] must differ from cases[{first}], got the same {same}")
    return found


def _short(value):
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
