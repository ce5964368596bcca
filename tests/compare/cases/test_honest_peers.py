"""Honest peers pass whatever the seed: these inputs once made a comparison reject PyTorch."""

import pytest

from compare.cases.registry import case_named
from compare.run.row import judge_config

# Where the gradient of the output bias was two sums that cancelled, and where a large y took digits from exp(x - y).
ONCE_REJECTED = [
    ("self_attention", "empty_rows", "float16", 101),
    ("self_attention", "empty_rows", "bfloat16", 101),
    ("logsumexp", "first_axis", "float64", 103),
    ("logsumexp", "first_axis", "float16", 107),
]


@pytest.mark.parametrize(("name", "config_name", "dtype", "seed"), ONCE_REJECTED)
def test_pytorch_passes_with_a_seed_that_was_once_rejected(name, config_name, dtype, seed):
    case = case_named(name)
    rows = judge_config(case, case.config_named(config_name), dtype, peers=["torch"], seed=seed)
    assert [(row["verdict"], row["reason"]) for row in rows] == [("PASS", "")]
