"""The one template of the component pages, and what is wrong with a page that departs from it."""

import ast
import importlib
import re
from pathlib import Path

from readalong.source import SourceError, bare, component_names, function_in, module_path

SECTIONS = (
    "What it does",
    "The text",
    "The pullback, step by step",
    "An example",
    "Conventions",
    "Measured",
)
PACKAGES = ("layers", "positions", "recurrent", "attention", "blocks", "models")
_FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})(?P<info>.*)\n(?P<body>(?:.*\n)*?)(?P=fence)\s*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\{(?P<name>[\w-]+)\}\s*(?P<argument>.*)$")
_ROLE = re.compile(r"\{func\}`~?([\w.]+)`")


def source_of_page(docname):
    """Find the file that a page is about: ``components/models/gpt/heads`` is about ``refimpl/models/gpt/heads.py``."""
    return module_path(".".join(["refimpl", *Path(docname).parts[1:]]))


def faults_of_tree(pages, refimpl):
    """Compare the pages with the modules, and check every page.

    Parameters
    ----------
    pages : Path
        The folder of the pages, laid out as the package.
    refimpl : Path
        The package.

    Returns
    -------
    list of str
        What is wrong, one sentence each.
    """
    faults, elsewhere = [], _shown_by_dotted_name(pages)
    for package in PACKAGES:
        for path in sorted((refimpl / package).rglob("*.py")):
            below = path.relative_to(refimpl).with_suffix("")
            page = (pages / below).with_suffix(".md")
            parts = {".".join(["refimpl", *below.parts, name]) for name in component_names(path)}
            if not parts <= elsewhere and not page.is_file():
                faults.append(f"{path.relative_to(refimpl.parent)} has no page: write {page.relative_to(pages.parent)}")
    for page in sorted(pages.glob("*/**/*.md")):
        path = (refimpl / page.relative_to(pages)).with_suffix(".py")
        if not path.is_file():
            gone = path.relative_to(refimpl.parent)
            faults.append(f"{page.relative_to(pages.parent)} is about {gone}, which is gone")
        else:
            faults += [f"{page.relative_to(pages.parent)}: {fault}" for fault in faults_of_page(page, path)]
    return faults


def faults_of_page(page, path):
    """Check one page.

    Parameters
    ----------
    page : Path
        The page.
    path : Path
        The file it is about.

    Returns
    -------
    list of str
        What is wrong.
    """
    text = page.read_text(encoding="utf-8")
    blocks = [(*_DIRECTIVE.match(info).groups(), body) for info, body in _fences(text) if _DIRECTIVE.match(info)]
    prose = _FENCE.sub("", text)
    faults = _wrong_sections(prose)
    faults += [fault for name, argument, body in blocks for fault in _wrong_quote(path, name, argument, body)]
    faults += _without_text(path, blocks)
    faults += _unexplained(path, blocks)
    faults += _gone_names(blocks, prose, path)
    names = [name for name, _, _ in blocks]
    faults += [f"has no {{{name}}}" for name in ("component", "text", "code-cell", "measured") if name not in names]
    return faults


def _shown_by_dotted_name(pages):
    """Parts of a larger component may be shown on its page."""
    texts = [page.read_text(encoding="utf-8") for page in pages.glob("*/**/*.md")]
    return {name for text in texts for name in re.findall(r"^`{3,}\{text\} (refimpl[\w.]+)$", text, re.MULTILINE)}


def _fences(text):
    return [(match["info"].strip(), match["body"]) for match in _FENCE.finditer(text)]


def _wrong_sections(prose):
    sections = tuple(re.findall(r"^## (.+?)\s*$", prose, re.MULTILINE))
    if sections != SECTIONS:
        return [f"sections must be {' / '.join(SECTIONS)}, got {' / '.join(sections)}"]
    return []


def _function(path, name):
    if "." in name:
        module, name = name.rsplit(".", 1)
        path = module_path(module)
    return function_in(path, name)


def _wrong_quote(path, directive, argument, body):
    if directive not in ("text", "step"):
        return []
    try:
        function = _function(path, argument)
        if directive == "step":
            function.find([line for line in body.splitlines() if line.strip()])
    except SourceError as error:
        return [str(error)]
    return []


def _without_text(path, blocks):
    shown = {argument for name, argument, _ in blocks if name == "text"}
    return [f"does not show the text of {name}" for name in component_names(path) if name not in shown]


def _unexplained(path, blocks):
    """Every line of every pullback that the page shows must stand in a step beside its reason."""
    faults = []
    for name in dict.fromkeys(argument for directive, argument, _ in blocks if directive == "text"):
        quoted = {
            bare(line)
            for directive, argument, body in blocks
            if directive == "step" and argument == name
            for line in body.splitlines()
        }
        for number, line in _pullback_lines(path, name):
            if bare(line) not in quoted:
                faults.append(f"does not explain line {number}, in the pullback of {name}: {bare(line)}")
    return faults


def _pullback_lines(path, name):
    try:
        function = _function(path, name)
    except SourceError:
        return []  # it is gone, which is another fault
    code = [(number, line) for number, line in function.lines if function.is_in_pullback(number)]
    # Comments, and the check of what the pullback is given, are no steps of a derivation.
    no_steps = ("#", "check_gradient")
    return [(number, line) for number, line in code if bare(line) and not bare(line).startswith(no_steps)]


def _gone_names(blocks, prose, path):
    wanted = [tuple(target.rpartition(".")[::2]) for target in _ROLE.findall(prose) if "." in target]
    for name, _, body in blocks:
        if name == "code-cell":
            wanted += _imports(re.sub(r"^(:.*|[%!].*)$", "", body, flags=re.MULTILINE))
    return [f"names {module}.{name}, which is gone" for module, name in wanted if not _exists(module, name)]


def _imports(code):
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    return [
        (node.module, alias.name)
        for node in found
        if node.module.split(".")[0] in ("refimpl", "compare")
        for alias in node.names
    ]


def _exists(module, name):
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True
