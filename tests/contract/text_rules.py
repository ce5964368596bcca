"""Rules on every text of the repository, code or not.

A fixed tolerance is a number written down as a fraction (1e-6) or a count of decimals.  A bound in units of the unit
roundoff (``2**-40``, ``4 * eps``, ``n * bound``) is derived, and passes; why it holds stands beside it.
"""

import ast
import re
from types import SimpleNamespace

MACHINE_PATH = re.compile(r"(?<![\w./~<$}*-])/(?:work|root|tmp|var/tmp|home|Users|mnt)(?![\w-])")
REGISTRY = re.compile(
    r"\b(?:pypi\.org|pythonhosted\.org|download\.pytorch\.org|anaconda\.(?:org|com)|npmjs\.org|index-url[ =])"
)
MARK = re.compile(r"(?:#|//|/\*|<!--|\{#)\s*(?:TODO|FIXME|XXX|HACK)\b|\b(?:TODO|FIXME|XXX)\b\s*[:(]")
APPROXIMATE = {
    "allclose", "approx", "assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "isclose",
    "testing.assert_close",
}
TOLERANCES = {"abs", "abs_tol", "atol", "decimal", "places", "rel", "rel_tol", "rtol"}
SKIPS = {"skip", "skipif", "xfail"}  # importorskip says by itself what could not be imported


def no_machine_paths(source):
    """No absolute path of a build machine: the project works wherever it lies."""
    yield from _matches(source, MACHINE_PATH)


def no_registry_hosts(source):
    """No package registry is named: the user's own pip configuration decides where packages come from."""
    yield from _matches(source, REGISTRY)


def no_unfinished_marks(source):
    """What is unfinished is an issue, not a mark in the text."""
    yield from _matches(source, MARK)


def nothing_unimplemented(source):
    """What is not there is not declared: a function works or does not exist."""
    for node in _python_nodes(source):
        if isinstance(node, ast.Raise) and node.exc is not None and "NotImplementedError" in ast.unparse(node.exc):
            yield node, ast.unparse(node)


def skips_give_reasons(source):
    """A test that may be skipped or may fail says why."""
    called = set()
    for node in _python_nodes(source):
        if isinstance(node, ast.Call) and _is_skip(node.func):
            called.add(id(node.func))
            reasons = [keyword.value for keyword in node.keywords if keyword.arg in ("reason", "msg")]
            reasons += node.args[:1] if node.func.attr == "skip" else []
            if not any(ast.unparse(reason) not in ("''", "None") for reason in reasons):
                yield node, ast.unparse(node)
    for node in _python_nodes(source):
        if _is_skip(node) and id(node) not in called:
            yield node, ast.unparse(node)


def no_fixed_tolerances(source):
    """Exact things are judged exactly and rounding by a derived bound, never by a number that happened to pass."""
    for node in _python_nodes(source):
        if isinstance(node, ast.Call):
            called = _called(node.func)
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            tolerances = {name: keywords[name] for name in sorted(keywords.keys() & TOLERANCES)}
            if called in APPROXIMATE and not tolerances:
                yield node, f"{called} with its own tolerance"
            if called in APPROXIMATE or tolerances.keys() - {"abs", "rel", "places"}:
                yield from ((node, f"{n}={ast.unparse(t)}") for n, t in tolerances.items() if _is_fixed(n, t))
        elif isinstance(node, (ast.FunctionDef, ast.Assign)):
            yield from ((node, f"{n}={ast.unparse(t)}") for n, t in _named_tolerances(node) if _is_fixed(n, t))


RULES = (
    no_machine_paths,
    no_registry_hosts,
    no_unfinished_marks,
    nothing_unimplemented,
    skips_give_reasons,
    no_fixed_tolerances,
)


def _matches(source, pattern):
    for number, line in enumerate(source.text.splitlines(), 1):
        if found := pattern.search(line):
            yield SimpleNamespace(lineno=number), f"{found.group()!r} in {line.strip()[:80]}"


def _python_nodes(source):
    return ast.walk(source.tree) if source.name.endswith(".py") else []


def _is_skip(node):
    if not isinstance(node, ast.Attribute) or node.attr not in SKIPS:
        return False
    return ast.unparse(node.value) in ("pytest", "pytest.mark", "unittest")


def _called(func):
    """The last word of what is called, and the one before where only both say whose it is."""
    words = ast.unparse(func).split(".")
    return ".".join(words[-2:]) if words[-1] == "assert_close" else words[-1]


def _named_tolerances(node):
    if isinstance(node, ast.Assign):
        return [(name.id.lower(), node.value) for name in node.targets if _is_tolerance(name)]
    args = [*node.args.posonlyargs, *node.args.args]
    by_position = zip(args[len(args) - len(node.args.defaults) :], node.args.defaults, strict=True)
    pairs = [*by_position, *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    return [(arg.arg, default) for arg, default in pairs if arg.arg in TOLERANCES - {"abs"} and default is not None]


def _is_tolerance(target):
    return isinstance(target, ast.Name) and target.id.lower() in TOLERANCES - {"abs", "rel", "places"}


def _is_fixed(name, value):
    numbers = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    if name in ("decimal", "places"):
        return bool(numbers)
    return any(isinstance(number, float) and 0.0 < number < 1.0 for number in numbers)
