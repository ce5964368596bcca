"""What models of published sizes cost, against what is known of them."""

import json
import sys
import tracemalloc

import pytest

from compare.cli import main
from compare.costs.plot import draw_costs
from compare.costs.published import PUBLISHED
from compare.costs.table import cost_of, costs_of

# From the checkpoints of these sizes, head and pooler included where there is one.
KNOWN = {
    "bert-base": 110_106_428, "bert-large": 336_226_108, "gpt-1": 116_534_784, "gpt-2": 124_439_808,
    "gpt-2-medium": 354_823_168, "gpt-2-large": 774_030_080, "gpt-2-xl": 1_557_611_200, "llama-7b": 6_738_415_616,
    "mixtral-8x7b": 46_702_792_704, "gpt-neox-20b": 20_554_567_680, "bloom": 176_247_271_424,
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_the_number_of_parameters_is_that_of_the_checkpoint(name):
    assert cost_of(name, n_seq=8).n_param == KNOWN[name]


def test_gpt3_has_175_billion_parameters_and_allocates_nothing():
    tracemalloc.start()
    found = cost_of("gpt-3", n_seq=2048, dtype="float16")
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_param == 174_604_259_328
    assert round(found.n_param / 1e9) == 175
    assert found.param_bytes == 2 * found.n_param
    assert used < 2**27  # Python's own objects
    # 2 flops for every weight of a matrix and token forward, 4 backward; attention on top (Kaplan et al. 2020, 2.1).
    n_weight, n_seq, d_model, n_layer = 12 * 96 * 12288**2 + 50257 * 12288, 2048, 12288, 96
    products = 2 * n_weight * n_seq + 4 * n_layer * n_seq**2 * d_model
    assert products < found.forward_flops < 1.01 * products
    assert 3 * products < found.step_flops < 3.03 * products


def test_a_mixture_has_the_parameters_of_all_experts_and_costs_what_two_of_eight_do():
    mixture = cost_of("mixtral-8x7b", n_seq=1024)
    # 13 B parameters count for a token (Jiang et al. 2024, section 3), embeddings but not their lookup among them.
    n_used = mixture.forward_flops / 2 / 1024
    assert 12.6e9 < n_used < 13.2e9
    assert mixture.n_param > 3.5 * n_used


def test_banded_layers_keep_less():
    dense, banded = (cost_of(name, n_seq=768) for name in ("gpt-3", "gpt-3-banded"))
    assert banded.n_param == dense.n_param
    assert banded.kept_bytes < 0.85 * dense.kept_bytes


@pytest.mark.parametrize(
    ("name", "said"), [("transformer-base", 65), ("transformer-big", 213), ("transformer-xl", 151)]
)
def test_the_others_are_near_what_their_authors_name(name, said):
    assert abs(cost_of(name, n_seq=8).n_param / 1e6 / said - 1) < 0.04
    assert PUBLISHED[name].said.startswith(f"{said} M")


@pytest.mark.parametrize("name", ["transformer-base", "bert-large", "gpt-2-xl", "transformer-xl-large"])
def test_more_tokens_and_texts_cost_more(name):
    one, longer, two = cost_of(name, n_seq=16), cost_of(name, n_seq=32), cost_of(name, n_seq=16, n_batch=2)
    for more in (longer, two):
        assert more.n_param == one.n_param
        assert more.forward_flops > one.forward_flops
        assert more.kept_bytes > one.kept_bytes
    assert one.forward_flops < one.step_flops
    assert one.kept_bytes < one.peak_bytes


def test_time_is_bound_by_arithmetic_or_by_reading_the_parameters():
    found = cost_of("bert-base", n_seq=16)
    assert found.seconds(1e12, 1e30) == found.forward_flops / 1e12
    assert found.seconds(1e30, 1e9, step=True) == 3 * found.param_bytes / 1e9


def test_a_text_that_is_too_long_is_refused_and_left_out_of_the_table():
    with pytest.raises(ValueError, match="n_seq must be at most 512 for BERT base, got 513"):
        cost_of("bert-base", n_seq=513)
    assert [cost.model for cost in costs_of(["bert-base", "gpt-2"], [1024])] == ["gpt-2"]


def test_the_command_writes_a_table_and_a_plot(monkeypatch, capsys, tmp_path):
    words = ["--model", "bert-base", "--model", "gpt-3", "--length", "128", "--flops", "1e13", "--bandwidth", "1e12"]
    monkeypatch.setattr(sys, "argv", ["refcompare", "cost", *words, "--output", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    out = capsys.readouterr().out
    assert end.value.code == 0
    assert "174.6 B" in out
    assert "110.1 M" in out
    written = json.loads((tmp_path / "cost.json").read_text())["costs"]
    assert [cost["model"] for cost in written] == ["bert-base", "gpt-3"]
    assert "GPT-3" in (tmp_path / "cost.svg").read_text()


def test_an_unknown_model_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["refcompare", "cost", "--model", "gpt-5"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_plot_has_a_line_for_every_model():
    figure = draw_costs(list(costs_of(["gpt-1", "gpt-2"], [16, 32])))
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]


def test_an_output_that_cannot_be_written_is_said_before_any_work(monkeypatch, capsys, tmp_path):
    (tmp_path / "cost.svg").mkdir()
    monkeypatch.setattr(sys, "argv", ["refcompare", "cost", "--output", str(tmp_path)])
    monkeypatch.setattr("compare.costs.table.costs_of", None)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr() == ("", f"refcompare: cannot write {tmp_path / 'cost.svg'}: Is a directory\n")
    assert [path.name for path in tmp_path.iterdir()] == ["cost.svg"]


def test_an_interruption_is_one_line(monkeypatch, capsys, tmp_path):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["refcompare", "cost", "--output", str(tmp_path)])
    monkeypatch.setattr("compare.costs.table.costs_of", interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, *capsys.readouterr()) == (130, "", "refcompare: interrupted\n")
