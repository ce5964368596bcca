"""Find the cases: every module of this package that defines ``CASES``."""

import difflib
import importlib
import pkgutil
from functools import lru_cache

import compare.cases
from compare.cases.case import SECTIONS

_plugins = {}


def register(module_name):
    """Add the cases of a module outside this package.

    Parameters
    ----------
    module_name : str
        A module that can be imported and defines ``CASES``, like the modules of this package.

    Raises
    ------
    ValueError
        If it cannot be imported or has no cases.
    """
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"plugin must be a module that can be imported, got {module_name!r}: {error}") from None
    if not getattr(module, "CASES", ()):
        raise ValueError(f"plugin must define CASES, got {module_name!r} without")
    _plugins[module_name] = module
    all_cases.cache_clear()


@lru_cache(maxsize=1)
def all_cases():
    """Collect the cases.

    Returns
    -------
    dict of (str, Case)
        All cases by name, in the order of the catalogue's sections.

    Raises
    ------
    ValueError
        If two cases have one name, or a case stands in no section.
    """
    found = {}
    names = sorted(module.name for module in pkgutil.iter_modules(compare.cases.__path__))
    own = [importlib.import_module(f"compare.cases.{name}") for name in names]
    for module in (*own, *_plugins.values()):
        for case in getattr(module, "CASES", ()):
            if case.name in found:
                raise ValueError(f"case names must be unique, got {case.name} twice")
            if case.section not in SECTIONS:
                raise ValueError(f"section of {case.name} must be one of {', '.join(SECTIONS)}, got {case.section!r}")
            found[case.name] = case
    return dict(sorted(found.items(), key=lambda item: SECTIONS.index(item[1].section)))


def case_named(name):
    """Look up a case.

    Parameters
    ----------
    name : str
        The case's name.

    Returns
    -------
    Case
        The case.

    Raises
    ------
    ValueError
        If there is none of this name; the message suggests one that is close.
    """
    cases = all_cases()
    if name in cases:
        return cases[name]
    close = difflib.get_close_matches(name, cases, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; `refcompare list` shows all"
    raise ValueError(f"case must be one of the {len(cases)} known, got {name!r}{hint}")
