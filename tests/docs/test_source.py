"""Functions are quoted as they stand in their files."""

import pytest
from readalong.source import SourceError, component_names, function_in, module_path

SOURCE = '''
def f(x):
    """Docstring.

    More of it.
    """
    y = x  # (n,)
    same = 1

    def pullback(dy):
        same = 1
        return (dy,)

    return y, pullback


def _private(x):
    def pullback(dy):
        return (dy,)

    return x, pullback


def helper(x):
    return x
'''


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return path


def test_docstring_is_left_out(path):
    assert [text.strip() for _, text in function_in(path, "f").lines][:2] == ["def f(x):", "y = x  # (n,)"]


def test_lines_keep_their_numbers(path):
    assert function_in(path, "f").find(["y = x"]) == [(7, "    y = x  # (n,)")]


def test_a_quote_prefers_the_pullback(path):
    assert function_in(path, "f").find(["same = 1"])[0][0] == 11


def test_only_the_pullback_is_tinted(path):
    function = function_in(path, "f")
    assert [number for number, _ in function.lines if function.is_in_pullback(number)] == [11, 12]


@pytest.mark.parametrize("quoted", [["y = z"], ["y = x", "def f(x):"], ["y ="]])
def test_lines_that_are_not_there_or_out_of_order_are_refused(path, quoted):
    with pytest.raises(SourceError, match="has no line in f that reads"):
        function_in(path, "f").find(quoted)


def test_a_function_that_is_gone_is_refused(path):
    with pytest.raises(SourceError, match="has no function g"):
        function_in(path, "g")


def test_a_changed_file_is_read_again(path):
    function_in(path, "f")
    path.write_text(SOURCE.replace("y = x", "y = x + 0"))
    with pytest.raises(SourceError):
        function_in(path, "f").find(["y = x"])


def test_components_are_public_functions_with_a_pullback(path):
    assert component_names(path) == ["f"]


def test_module_path():
    assert module_path("refimpl.layers.gelu").is_file()
