"""Rules on ``xp``, the one word by which a component reaches its array library."""

import ast
import re

from refimpl.arrays.vocabulary import VOCABULARY
from tests.contract import numpydoc_types
from tests.contract.scopes import parameters
from tests.contract.source import body_without_docstring, is_public

OPTIONAL_KEYWORDS = {"keepdims"}


def namespace_first(source):
    """The first statement of a function that uses xp is `xp = array_namespace(...)`."""
    firsts = set()
    for function in source.functions:
        first = body_without_docstring(function)[0]
        call = first.value if isinstance(first, (ast.Assign, ast.Expr)) else None
        firsts.add(id(call))
        if "xp" in {arg.arg for arg in parameters(function)}:
            continue
        if _uses_xp(function) and not (_is_lookup(call) and _binds_xp(first)):
            yield function, f"{function.name} begins with: {ast.unparse(first)}"
        elif isinstance(first, ast.Assign) and _is_lookup(call) and not _binds_xp(first):
            yield first, f"the namespace is called {ast.unparse(first.targets[0])}"
    for node in ast.walk(source.tree):
        if _is_lookup(node) and id(node) not in firsts:
            yield node, ast.unparse(node)


def namespace_of_every_array(source):
    """`array_namespace` is asked about every array argument, so that no array of another library slips in."""
    for function in filter(is_public, source.functions):
        for call in filter(_is_lookup, ast.walk(function)):
            asked = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
            documented = numpydoc_types.types(function)
            names = [arg.arg for arg in parameters(function)]
            forgotten = [name for name in names if numpydoc_types.is_array(name, documented) and name not in asked]
            if forgotten:
                yield call, f"{function.name} does not ask about {', '.join(forgotten)}"


def namespace_is_no_value(source):
    """xp is followed by a word, or handed as xp to a private helper: under another name its words go unseen."""
    allowed = set()
    helpers = {function.name: function for function in source.functions if not is_public(function)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute):
            allowed.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in helpers:
            names = [arg.arg for arg in parameters(helpers[node.func.id])]
            allowed.update(id(arg) for name, arg in zip(names, node.args, strict=False) if name == "xp")
    for node in ast.walk(source.tree):
        if _is_xp(node) and isinstance(node.ctx, ast.Load) and id(node) not in allowed:
            yield node, "xp as a value"


def words_of_the_vocabulary(source):
    """xp has no words but those of refimpl.arrays.vocabulary, which every interpretation understands."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and _is_xp(node.value) and node.attr not in VOCABULARY:
            yield node, f"xp.{node.attr}"


def call_forms_of_the_vocabulary(source):
    """A word is called as its entry in the vocabulary says: other call forms differ between libraries."""
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_xp(node.func.value)):
            continue
        form = _form(node.func.attr)
        if form and (fault := _misfit(node, *form)):
            yield node, f"{fault} in {ast.unparse(node)}; the form is {VOCABULARY[node.func.attr]}"


def _form(word):
    """Read a vocabulary entry: least and most positional arguments, needed and allowed keywords."""
    entry = re.match(rf"{word}\(.*?\)(?=$|[;,]| ->)", VOCABULARY.get(word, ""))
    if not entry:
        return None
    full = ast.parse(re.sub(r"[\[\]]", "", entry.group()), mode="eval").body
    short = ast.parse(re.sub(r"\[.*?\]", "", entry.group()), mode="eval").body
    needed = {keyword.arg for keyword in short.keywords} - OPTIONAL_KEYWORDS
    return len(short.args), len(full.args), needed, {keyword.arg: keyword.value for keyword in full.keywords}


def _misfit(call, least, most, needed, allowed):
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    if not starred and not least <= len(call.args) <= most:
        return f"{len(call.args)} positional arguments"
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if unknown := given.keys() - allowed.keys():
        return f"keyword {', '.join(map(str, unknown))}"
    if missing := needed - given.keys():
        return f"no {', '.join(sorted(missing))}"
    for name, value in given.items():
        fixed = isinstance(allowed[name], ast.Constant) and allowed[name].value is not ...
        if fixed and ast.unparse(value) != ast.unparse(allowed[name]):
            return f"{name}={ast.unparse(value)}"
    return None


def _is_xp(node):
    return isinstance(node, ast.Name) and node.id == "xp"


def _uses_xp(function):
    return any(_is_xp(node) for node in ast.walk(function))


def _is_lookup(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "array_namespace"


def _binds_xp(statement):
    return isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _is_xp(statement.targets[0])
