"""Every component has a page, every page follows the template, and both checks reject what is wrong."""

import pytest
from readalong.template import SECTIONS, faults_of_page, faults_of_tree

from tests.docs.conftest import DOCS, ROOT

SOURCE = '''
"""Doubling."""


def double(x):
    """Double."""
    y = 2.0 * x

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        # Twice in, twice out.
        dx = 2.0 * dy  # (n,)
        return (dx,)

    return y, pullback
'''
PAGE = """
# Doubling

```{component}
```

## What it does

## The text

```{text} double
```

## The pullback, step by step

```{step} double
dx = 2.0 * dy
return (dx,)
```

## An example

```{code-cell}
from refimpl.layers.relu import relu
```

## Conventions

## Measured

```{measured} double
```
"""


def test_every_component_has_a_page_and_every_page_follows_the_template():
    assert faults_of_tree(DOCS / "components", ROOT / "refimpl") == []


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "refimpl" / "layers").mkdir(parents=True)
    (tmp_path / "docs" / "components" / "layers").mkdir(parents=True)
    (tmp_path / "refimpl" / "layers" / "double.py").write_text(SOURCE)
    (tmp_path / "docs" / "components" / "layers" / "double.md").write_text(PAGE)
    return tmp_path


def faults(tree):
    return faults_of_tree(tree / "docs" / "components", tree / "refimpl")


def test_a_right_page_has_no_faults(tree):
    assert faults(tree) == []


def test_a_component_without_a_page(tree):
    (tree / "docs" / "components" / "layers" / "double.md").unlink()
    assert faults(tree) == ["refimpl/layers/double.py has no page: write components/layers/double.md"]


def test_a_component_of_a_family_without_a_page(tree):
    (tree / "refimpl" / "models" / "doubles").mkdir(parents=True)
    (tree / "refimpl" / "models" / "doubles" / "twice.py").write_text(SOURCE)
    assert faults(tree) == ["refimpl/models/doubles/twice.py has no page: write components/models/doubles/twice.md"]


def test_a_page_about_a_file_that_is_gone(tree):
    (tree / "refimpl" / "layers" / "double.py").unlink()
    assert faults(tree) == ["components/layers/double.md is about refimpl/layers/double.py, which is gone"]


WRONG = {
    "has no function treble": (PAGE.replace("{text} double", "{text} treble"), SOURCE),
    "does not show the text of double": (PAGE.replace("```{text} double\n```", ""), SOURCE),
    "has no line in double that reads: dx = 2.0 * dy": (PAGE, SOURCE.replace("2.0 * dy", "dy * 2.0")),
    "does not explain line 13, in the pullback of double: return (dx,)": (PAGE.replace("return (dx,)\n", ""), SOURCE),
    "does not explain line 10, in the pullback of double: check(dy)": (
        PAGE, SOURCE.replace("check_gradient(dy, y.shape, y.dtype)", "check(dy)")
    ),
    "names refimpl.layers.relu.leaky, which is gone": (PAGE.replace("import relu", "import leaky"), SOURCE),
    "names refimpl.gone.relu, which is gone": (PAGE.replace("refimpl.layers.relu", "refimpl.gone"), SOURCE),
    "names refimpl.layers.linear.gone, which is gone": (PAGE + "{func}`refimpl.layers.linear.gone`\n", SOURCE),
    "has no {measured}": (PAGE.replace("{measured} double", "{note}"), SOURCE),
    "has no {code-cell}": (PAGE.replace("{code-cell}", "{code-block}"), SOURCE),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_page_is_rejected(fault, tree):
    page, source = WRONG[fault]
    (tree / "docs" / "components" / "layers" / "double.md").write_text(page)
    (tree / "refimpl" / "layers" / "double.py").write_text(source)
    assert any(fault in found for found in faults(tree)), faults(tree)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_missing_section_is_rejected(section, tree):
    page = tree / "docs" / "components" / "layers" / "double.md"
    page.write_text(PAGE.replace(f"## {section}\n", ""))
    assert any("sections must be" in found for found in faults_of_page(page, tree / "refimpl" / "layers" / "double.py"))


def test_sections_out_of_order_are_rejected(tree):
    page = tree / "docs" / "components" / "layers" / "double.md"
    swapped = PAGE.replace("Conventions", "X").replace("What it does", "Conventions").replace("X", "What it does")
    page.write_text(swapped)
    assert any("sections must be" in found for found in faults(tree))
