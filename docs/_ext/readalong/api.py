"""One reference page for every public module, written before Sphinx looks for pages and removed with its module."""

from pathlib import Path

from readalong.source import ROOT

PACKAGES = ("refimpl", "compare")


def public_modules(root=ROOT):
    """List the modules of both packages by their files.

    Parameters
    ----------
    root : Path, optional
        The project.

    Returns
    -------
    dict of (str, list of str)
        The modules and subpackages of each package, by its dotted name.
    """
    tree = {}
    for package in PACKAGES:
        for init in sorted((root / package).rglob("__init__.py")):
            folder = init.parent
            children = [path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")]
            children += [path.parent.name for path in folder.glob("*/__init__.py")]
            name = ".".join(folder.relative_to(root).parts)
            tree[name] = sorted(f"{name}.{child}" for child in children)
    return tree


def pages(tree):
    """Write the text of every page.

    Parameters
    ----------
    tree : dict of (str, list of str)
        From `public_modules`.

    Returns
    -------
    dict of (str, str)
        reStructuredText by file name.
    """
    texts = {}
    for package, children in tree.items():
        entries = "".join(f"   {child}\n" for child in children)
        texts[f"{package}.rst"] = (
            f"{package}\n{'=' * len(package)}\n\n.. automodule:: {package}\n   :no-members:\n\n"
            f".. toctree::\n   :maxdepth: 1\n\n{entries}"
        )
        for module in children:
            if module not in tree:
                texts[f"{module}.rst"] = (
                    f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n   :members:\n"
                )
    return texts


def write_pages(folder, texts):
    """Bring a folder up to date, leaving unchanged files alone.

    Parameters
    ----------
    folder : Path
        Where the pages lie.
    texts : dict of (str, str)
        From `pages`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _write(app, config):
    write_pages(Path(app.srcdir) / "api" / "modules", pages(public_modules()))


def setup(app):
    """Write the pages as soon as the configuration is read."""
    app.connect("config-inited", _write)
