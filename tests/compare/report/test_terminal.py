import pytest

from compare.report import terminal


def widths(text):
    # A command may be longer than the terminal: it has to stay in one piece to be copied.
    return [len(line) for line in text.splitlines() if not line.startswith("  repeat")]


@pytest.mark.parametrize("width", [100, 160])
def test_nothing_is_wider_than_the_terminal(mixed, width):
    assert max(widths(terminal.render(mixed, width))) <= width


def test_names_are_whole_where_there_is_room(mixed):
    assert "transformer_xl_block" in terminal.render(mixed, 160)


def test_every_case_and_dtype_has_a_line(mixed):
    text = terminal.render(mixed, 160)
    for case in {row["case"] for row in mixed["cases"]}:
        assert sum(line.startswith(f"{case} ") for line in text.splitlines()) >= 3, case


def test_a_failure_is_told_with_reason_values_and_command(mixed):
    text = terminal.render(mixed)
    part = text[text.index("FAIL  gelu_tanh") :].split("\n\n")[0]
    assert "8.5e+03 sigma from the truth" in part
    assert "outputs y[1, 2, 11] of the reference: 8500 σ" in part
    assert "got 8500, truth 0.1234566" in part
    assert "refcompare run gelu_tanh --config rank3 --dtype float32 --peer torch" in part
    assert "signal 11" in text[text.index("CRASH  rotary") :].split("\n\n")[0]


def test_totals_name_every_verdict_and_the_overhead(mixed):
    total, time = terminal.render(mixed).rstrip().splitlines()[-2:]
    assert total.startswith("280 comparisons: 272 PASS, 1 WAIVED")
    assert time == "2 min 0 s in all, 1 min 40 s in measured code, harness overhead 20.2 s (17%)"


def test_a_report_of_nothing_says_so(small):
    assert "nothing was compared" in terminal.render({**small, "cases": []})


def test_names_cannot_steer_the_terminal(synthetic):
    text = terminal.render(synthetic.hostile())
    assert all(letter.isprintable() or letter == "\n" for letter in text)
