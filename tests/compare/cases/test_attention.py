"""What the cases of attention do to PyTorch's conventions, and the domain they cover."""

import numpy as np
import pytest
import torch

from compare.cases.attention_weights import draw_mask, first_only, masked_after, torch_weights
from compare.cases.multi_head import torch_mask, torch_multi_head
from compare.cases.registry import case_named
from compare.measure.truth import draw_inputs
from compare.run.row import judge_config

CASES = (
    "attention_weights attention attention_kernels causal_mask padding_mask multi_head_attention self_attention "
    "cross_attention"
).split()


@pytest.mark.parametrize("kind", ["causal", "random", "per head", "padding", "empty rows"])
def test_masks_fit_the_scores(generator, kind):
    mask = draw_mask(generator, kind, (3, 2), 5, 6)
    assert mask.dtype == bool
    assert np.broadcast_shapes(mask.shape, (3, 2, 5, 6)) == (3, 2, 5, 6)
    assert mask.any()
    assert not mask.all()


def test_only_the_kind_that_says_so_has_empty_rows_everywhere(generator):
    assert draw_mask(generator, "per head", (3, 2), 5, 6).any(-1).all()
    empty = ~draw_mask(generator, "empty rows", (3, 2), 5, 6).any(-1)
    assert empty.any()


def test_a_row_without_keys_has_weight_0_in_the_torch_form():
    q, k = torch.ones(2, 3), torch.ones(4, 3)
    mask = torch.tensor([[False] * 4, [True, True, False, False]])
    assert torch_weights(q, k, mask=mask).tolist() == [[0] * 4, [0.5, 0.5, 0, 0]]


def test_torch_modules_get_the_opposite_mask():
    mask = torch.tensor([[True, False]])
    assert torch_mask(mask, (1, 2, 1, 2)).tolist() == [[[False, True]], [[False, True]]]
    assert torch_mask(None, (1, 2, 1, 2)) is None


def test_a_given_dropout_does_not_outlive_the_call():
    case = case_named("multi_head_attention")
    inputs, _ = draw_inputs(case, case.config_named("dropout"), "float64", 0)
    q, k, v = (torch.tensor(x) for x in inputs.args[:3])
    params = {key: torch.tensor(x) for key, x in inputs.args[3].items()}
    before = torch.nn.functional.dropout
    everything = torch.ones(inputs.masks["keep"].shape, dtype=torch.bool)
    kept = torch_multi_head(q, k, v, params, n_head=3, keep=everything, rate=0.0)
    assert torch.nn.functional.dropout is before
    dropped = torch_multi_head(q, k, v, params, n_head=3, keep=torch.tensor(inputs.masks["keep"]), rate=0.2)
    assert not torch.equal(kept, dropped)


def test_first_only_is_not_a_sum():
    x = np.arange(12.0).reshape(3, 2, 2)
    assert first_only(x, (2, 1)).tolist() == [[0], [2]]


def test_masked_after_does_not_sum_to_1():
    y, _ = masked_after(np.zeros((1, 4)), mask=np.array([[True, True, True, False]]))
    assert y.sum() == 0.75


@pytest.mark.parametrize("name", CASES)
def test_every_dtype_passes(name):
    case = case_named(name)
    for config in case.configs:
        for dtype in () if config.measured or config.profile == "full" else case.dtypes:
            rows = judge_config(case, config, dtype)
            assert [(row["peer"], row["verdict"], row["reason"]) for row in rows if row["verdict"] != "PASS"] == []


def test_the_domain_is_covered():
    sizes = [config.sizes for config in case_named("attention_kernels").configs]
    assert any(s["n_query"] > s["n_key"] for s in sizes)
    assert any(s["n_query"] == 1 < s["n_key"] for s in sizes)
    assert any(s["d_head"] == 1 for s in sizes)
    assert any(s["d_head"] % 2 and s["d_head"] > 1 for s in sizes)
    assert {s.get("mask") for s in sizes} >= {"causal", "padding", "empty rows"}
