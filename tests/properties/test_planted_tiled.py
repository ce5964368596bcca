"""Every check of attention in tiles, in bands and by distance is shown a wrong component, and must reject it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from compare.cases.longformer import BUGS as LONGFORMER_BUGS
from compare.cases.relative import BUGS as RELATIVE_BUGS
from compare.cases.relative_shift import SHIFT_BUGS
from compare.cases.sliding_window import CASES as BAND_CASES
from compare.cases.sparse import ALTERNATING_BUGS, STRIDED_BUGS
from compare.cases.split_kv import MERGE_BUGS
from compare.cases.tiled_attention import BUGS as TILED_BUGS
from refimpl.attention.relative.attention import relative_attention
from refimpl.attention.relative.shift import relative_shift
from refimpl.attention.sparse.alternating import alternating_attention
from refimpl.attention.sparse.band import banded_attention
from refimpl.attention.sparse.longformer import longformer_attention
from refimpl.attention.sparse.sliding_window import sliding_window_attention
from refimpl.attention.sparse.strided import strided_attention
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention
from tests.properties import checks, test_tiled
from tests.properties.examples import run
from tests.properties.registry import component_of

BAND_BUGS, WINDOW_BUGS = (case.bugs for case in BAND_CASES)

# What is asked, of which component, and which of its planted bugs must be noticed by it.
REJECTED = [
    (test_tiled.tiled_is_naive, tiled_attention, TILED_BUGS, "output not rescaled"),
    (test_tiled.tiled_is_naive, tiled_attention, TILED_BUGS, "ragged last tile dropped"),
    (test_tiled.tiled_is_naive, tiled_attention, TILED_BUGS, "tile on the diagonal skipped"),
    (test_tiled.tiled_is_naive, tiled_attention, TILED_BUGS, "gradient without its row-sum term"),
    (test_tiled.tiled_is_naive, tiled_attention, TILED_BUGS, "gradient of q without scale"),
    (test_tiled.tile_sizes_mean_nothing, tiled_attention, TILED_BUGS, "sum not rescaled"),
    (test_tiled.log_sum_exp_of_all_scores, tiled_attention, TILED_BUGS, "log-sum-exp without the maximum"),
    (test_tiled.log_sum_exp_of_all_scores, tiled_attention, TILED_BUGS, "log-sum-exp of base 2"),
    (test_tiled.log_sum_exp_of_all_scores, tiled_attention, TILED_BUGS, "dropout in the log-sum-exp"),
    (test_tiled.merging_in_steps, merge_attention, MERGE_BUGS, "plain mean"),
    (test_tiled.merging_in_steps, merge_attention, MERGE_BUGS, "merged log-sum-exp without the maximum"),
    (test_tiled.band_is_a_mask, banded_attention, BAND_BUGS, "band edge wraps around to the filler"),
    (test_tiled.band_is_a_mask, banded_attention, BAND_BUGS, "gradient from one block only"),
    (test_tiled.window_is_a_mask, sliding_window_attention, WINDOW_BUGS, "window does not count the query"),
    (test_tiled.strides_are_a_mask, strided_attention, STRIDED_BUGS, "own position counted twice"),
    (test_tiled.alternation_is_a_mask, alternating_attention, ALTERNATING_BUGS, "odd layers dense"),
    (test_tiled.shift_is_its_loop, relative_shift, SHIFT_BUGS, "junk left after the diagonal"),
    (test_tiled.shift_is_its_loop, relative_shift, SHIFT_BUGS, "shift by one"),
    (test_tiled.relative_is_gathered, relative_attention, RELATIVE_BUGS, "shift by one"),
    (test_tiled.relative_is_gathered, relative_attention, RELATIVE_BUGS, "junk after the diagonal attended"),
    (checks.adjoint_identity, relative_shift, SHIFT_BUGS, "gradient shifted forwards"),
    (checks.adjoint_identity, longformer_attention, LONGFORMER_BUGS, "gradient of the gathered keys forgotten"),
]


@pytest.mark.parametrize(
    ("check", "function", "bugs", "bug"), REJECTED, ids=[f"{check.__name__}-{bug}" for check, _, _, bug in REJECTED]
)
def test_planted_bug_is_noticed(check, function, bugs, bug):
    rejects(check, component_of(function), bugs[bug])


def rejects(check, component, wrong):
    with pytest.raises((AssertionError, ValueError)), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        run(check, replace(component, function=wrong), shrink=False)


def test_a_longformer_that_reaches_farther_is_noticed():
    def farther(x, global_ids, params, *, reach, **settings):
        return longformer_attention(x, global_ids, params, reach=reach + 1, **settings)

    rejects(test_tiled.distant_tokens_mean_nothing, component_of(longformer_attention), farther)
