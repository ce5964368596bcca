"""Sphinx configuration: everything the built site needs is local, so that it opens offline."""

import hashlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from refimpl import __version__

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "refimpl"
author = "The refimpl authors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "readalong",
]
exclude_patterns = ["_build", "_ext", "_ipython", "data", "jupyter_execute"]
nitpicky = True
default_role = "our_name"

# --- the API reference
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# --- pages
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
# What the examples print belongs to the text they ran: another text, another cache, and every page is read again.
RUN_BY_EXAMPLES = ("refimpl", "compare/interpretations", "compare/verdict")
sources = sorted(path for folder in RUN_BY_EXAMPLES for path in (DOCS.parent / folder).rglob("*.py"))
text_hash = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
nb_execution_cache_path = str(DOCS / "_build" / "jupyter_cache" / text_hash)
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_merge_streams = True

# The kernels that execute the examples inherit these: one look for all figures, and no more than one core each.
os.environ["MATPLOTLIBRC"] = str(DOCS / "matplotlibrc")
os.environ["IPYTHONDIR"] = str(DOCS / "_build" / "ipython")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Progress bars are for those who wait: a page says nothing of them, nor that Jupyter has no widgets to draw them with.
os.environ["TQDM_DISABLE"] = "1"
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"
shutil.copytree(DOCS / "_ipython", os.environ["IPYTHONDIR"], dirs_exist_ok=True)

# --- mathematics: MathJax from an installed package, one file without fonts or parts to fetch
MATHJAX = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
mathjax_path = "tex-svg.js"
mathjax3_config = {
    "tex": {
        "macros": {
            "R": r"\mathbb{R}",
            "d": r"\mathrm{d}",
            "grad": [r"\overline{#1}", 1],
            "softmax": r"\operatorname{softmax}",
            "mean": r"\operatorname{mean}",
            "erf": r"\operatorname{erf}",
            "transpose": r"^{\mathsf{T}}",
        }
    },
    "options": {"enableMenu": False},
}

# --- the theme
html_theme = "pydata_sphinx_theme"
html_title = "refimpl"
html_static_path = ["_static", str(MATHJAX / "tex-svg.js")]
html_css_files = ["readalong.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
