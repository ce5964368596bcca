"""For every rule on texts, lines that break it, and it alone; and lines that look alike and break none."""

TEXT_VIOLATIONS = {
    "no_machine_paths": [
        ("notes.md", "See /root/notes for more."),
        ("a.py", 'PATH = "/tmp/report.json"'),
        ("a.py", "PATH = '/home/somebody/weights'"),
        ("Makefile", "\tcp report.json /work"),
    ],
    "no_registry_hosts": [
        ("README.md", "pip install --index-url https://example.org refimpl"),
        ("constraints.txt", "numpy @ https://files.pythonhosted.org/packages/numpy.whl"),
        ("a.py", 'URL = "https://pypi.org/simple"'),
        ("run", "pip install torch -f https://download.pytorch.org/whl/cpu"),
    ],
    "no_unfinished_marks": [
        ("a.py", "x = 1  # TODO later"),
        ("a.py", "# FIXME"),
        ("page.md", "TODO: write this page"),
        ("plot.js", "// XXX wrong"),
    ],
    "nothing_unimplemented": [
        ("a.py", "def f():\n    raise NotImplementedError"),
        ("a.py", "def f():\n    raise NotImplementedError('later')"),
    ],
    "skips_give_reasons": [
        ("test_a.py", "def test_a():\n    pytest.skip()"),
        ("test_a.py", "@pytest.mark.skip\ndef test_a():\n    f()"),
        ("test_a.py", "@pytest.mark.skipif(True)\ndef test_a():\n    f()"),
        ("test_a.py", "@pytest.mark.xfail\ndef test_a():\n    f()"),
        ("test_a.py", "@pytest.mark.skip(reason='')\ndef test_a():\n    f()"),
    ],
    "no_fixed_tolerances": [
        ("test_a.py", "assert np.allclose(a, b)"),
        ("test_a.py", "np.testing.assert_allclose(a, b, rtol=1e-6, atol=0)"),
        ("test_a.py", "assert a == pytest.approx(b)"),
        ("test_a.py", "assert a == pytest.approx(b, rel=1e-9)"),
        ("test_a.py", "np.testing.assert_array_almost_equal(a, b, decimal=3)"),
        ("test_a.py", "assert math.isclose(a, b, rel_tol=10 * 1e-7)"),
        ("test_a.py", "torch.testing.assert_close(a, b)"),
        ("a.py", "judge(a, b, rtol=1e-5)"),
        ("a.py", "def judge(a, b, rtol=1e-5):\n    return a"),
        ("a.py", "RTOL = 1e-5"),
    ],
}

CORRECT_TEXT = [
    ("README.md", "Open reports/latest/report.html; see https://example.org/home and docs/root.md, `</root>`."),
    ("CONTRIBUTING.md", "Point `PIP_EXTRA_INDEX_URL` at an index of CPU builds. No TODO stays in the text."),
    ("a.py", "try:\n    f()\nexcept NotImplementedError:\n    g(abs=1)"),
    ("test_a.py", "def test_a():\n    pytest.skip('no GPU here')\n    pytest.importorskip('cupy')"),
    ("test_a.py", "assert a == pytest.approx(b, rel=2**-40)\nassert np.allclose(a, b, rtol=n * eps, atol=0.0)"),
    ("test_a.py", "rounding.assert_close(a, b)\nassert_close(a, b)"),
]
