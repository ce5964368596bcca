"""Directives that quote the source: ``{component}``, ``{text}`` and ``{step}``."""

import ast
import textwrap

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

from readalong.source import ROOT, SourceError, component_names, function_in, module_path, parsed
from readalong.template import source_of_page


class _Quoting(SphinxDirective):
    """What the directives share: which function, and how its lines are shown."""

    def function(self, name):
        """Find a function of the page's file, or, with dots in its name, of any other."""
        if "." in name:
            module, name = name.rsplit(".", 1)
            path = module_path(module)
        else:
            path = source_of_page(self.env.docname)
        self.env.note_dependency(str(path))
        try:
            return function_in(path, name)
        except SourceError as error:
            raise self.error(str(error)) from error

    def code(self, lines, caption, classes, highlighted=()):
        """Show lines of a source file."""
        block = nodes.literal_block("", textwrap.dedent("\n".join(lines)), language="python")
        if highlighted:
            block["highlight_args"] = {"hl_lines": list(highlighted)}
        self.set_source_info(block)
        figure = nodes.container("", classes=["quoted", *classes])
        figure += nodes.paragraph("", "", *caption, classes=["quoted-from"])
        figure += block
        return figure


def link_to(function, text, docname):
    """Link to a function in the API reference."""
    module = ".".join(function.path.relative_to(ROOT).with_suffix("").parts)
    # Private helpers have no entry there.
    if function.name.startswith("_"):
        return nodes.literal(text, text)
    link = pending_xref("", refdomain="py", reftype="func", reftarget=f"{module}.{function.name}", refdoc=docname)
    link += nodes.literal(text, text)
    return link


class Component(SphinxDirective):
    """The head of a page: what its file says it is, where the file is, what it defines."""

    def run(self):
        path = source_of_page(self.env.docname)
        self.env.note_dependency(str(path))
        summary = ast.get_docstring(parsed(path)[1]).split("\n\n")[0]
        head = nodes.container(classes=["component-head"])
        head += nodes.paragraph("", summary, classes=["component-summary"])
        where = nodes.paragraph("", "", classes=["component-where"])
        where += nodes.Text("Source: ")
        relative = str(path.relative_to(ROOT))
        where += nodes.literal(relative, relative)
        names = component_names(path)
        where += nodes.Text(" · arguments, shapes, errors: " if names else "")
        for position, name in enumerate(names):
            where += [nodes.Text(", ")] if position else []
            where += link_to(function_in(path, name), name, self.env.docname)
        head += where
        return [head]


class Text(_Quoting):
    """``{text} name``: the whole function without its docstring, its pullback tinted."""

    required_arguments = 1

    def run(self):
        function = self.function(self.arguments[0])
        tinted = [
            position
            for position, (number, line) in enumerate(function.lines, start=1)
            if function.is_in_pullback(number) and line.strip()
        ]
        caption = [link_to(function, function.name, self.env.docname), nodes.Text(f" · {function.where}")]
        return [self.code([line for _, line in function.lines], caption, ["the-text"], tinted)]


class Step(_Quoting):
    """``{step} name`` with lines of that function: shown from the source, an error where they are not there."""

    required_arguments = 1
    has_content = True

    def run(self):
        function = self.function(self.arguments[0])
        try:
            found = function.find([line for line in self.content if line.strip()])
        except SourceError as error:
            raise self.error(str(error)) from error
        first, last = found[0][0], found[-1][0]
        lines = f"line {first}" if first == last else f"lines {first}–{last}"
        place = "pullback" if function.is_in_pullback(first) else "forward"
        caption = [nodes.Text(f"{function.name} · {place} · {lines}")]
        return [self.code([text for _, text in found], caption, ["the-step"])]


def setup(app):
    """Register the directives."""
    app.add_directive("component", Component)
    app.add_directive("text", Text)
    app.add_directive("step", Step)
