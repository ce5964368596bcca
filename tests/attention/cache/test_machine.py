"""The caches stand every history; caches with a planted bug do not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from compare.cases.bug import rewritten
from refimpl.attention.cache import key_value, paged, rows
from refimpl.attention.grouped.layer import grouped_query_decode
from tests.attention.cache.machine import DENSE, PAGED, CacheMachine

# An example has twenty steps, each with whole texts to compute.
N_EXAMPLE = max(settings.default.max_examples // 8, 30)
SETTINGS = settings(max_examples=N_EXAMPLE, stateful_step_count=20, suppress_health_check=list(HealthCheck))


def check(shrink=True, **verbs):
    """Run the machine, with some kinds of caches replaced."""
    machine = type("Machine", (CacheMachine,), verbs)
    chosen = (
        SETTINGS
        if shrink
        else settings(SETTINGS, phases=[Phase.generate], max_examples=200, derandomize=True, report_multiple_bugs=False)
    )
    run_state_machine_as_test(machine, settings=chosen)


def test_every_history_equals_computing_again():
    check()


WITHOUT_OFFSET = rewritten(rows.next_positions, "n_seen[:, None] + xp.arange", "0 * n_seen[:, None] + xp.arange")
TILED = rewritten(rows.forked_rows, "axis=1", "axis=0")
_is_behind = key_value._is_behind


def one_more(keys, queries, past):
    return _is_behind(keys, queries - 1, past)


def one_fewer(keys, queries, past):
    return _is_behind(keys, queries + 1, past)


def no_sinks(keys, queries, past):
    return keys <= queries - past.window


def written_in_place(pages, k, v, *, is_token=None):
    """Fill the last block of every row where it lies, though rows may share it."""
    longer = paged.append_pages(pages, k, v, is_token=is_token)
    tables = []
    for old, new in zip(pages.tables, longer.tables, strict=True):
        for old_part, new_part in zip(old[-1], new[len(old) - 1], strict=True) if old else ():
            old_part.flags.writeable = True
            old_part[...] = new_part
        tables.append((*old, *new[len(old) :]))
    return replace(longer, tables=tuple(tables))


DENSE_BUGS = {
    "offset lost": {"append": rewritten(key_value.append, next_positions=WITHOUT_OFFSET)},
    "offset of the layer lost": {"decode": rewritten(grouped_query_decode, next_positions=WITHOUT_OFFSET)},
    "values not reordered": {"reorder": rewritten(key_value.reorder, "v=past.v[rows]", "v=past.v[0 * rows]")},
    "lengths not reordered": {"reorder": rewritten(key_value.reorder, "past.n_seen[rows]", "past.n_seen[0 * rows]")},
    "fork tiles the rows": {"fork": rewritten(key_value.fork, forked_rows=TILED)},
    "rewind leaves a stale key": {
        "rewind": rewritten(key_value.rewind, "past.positions >= n_seen[:, None]", "past.positions > n_seen[:, None]")
    },
    "rewind forgets the length": {"rewind": rewritten(key_value.rewind, ", n_seen=n_seen)", ", n_seen=past.n_seen)")},
    "rewind of the first row for all": {
        "rewind": rewritten(key_value.rewind, "checked_counts(n, past.n_seen)", "checked_counts(n, past.n_seen)[:1]")
    },
    "mask without padding": {
        "decode": rewritten(
            grouped_query_decode,
            cache_mask=rewritten(key_value.cache_mask, "(keys >= 0) & (keys <= queries)", "keys <= queries"),
        )
    },
    "padding is counted": {
        "append": rewritten(
            key_value.append,
            "xp.sum((new >= 0).astype(xp.int64), axis=1)",
            "xp.sum((new >= -1).astype(xp.int64), axis=1)",
        )
    },
}
WINDOW_BUGS = {
    "window sees one more": {
        "decode": rewritten(grouped_query_decode, cache_mask=rewritten(key_value.cache_mask, _is_behind=one_more))
    },
    "window sees one fewer": {
        "decode": rewritten(grouped_query_decode, cache_mask=rewritten(key_value.cache_mask, _is_behind=one_fewer))
    },
    "one key too many forgotten": {"append": rewritten(key_value.append, _is_behind=one_fewer)},
    "sinks forgotten": {"append": rewritten(key_value.append, _is_behind=no_sinks)},
    "nothing forgotten": {"append": rewritten(key_value.append, "past.window is None", "True")},
    "sinks not seen": {
        "decode": rewritten(grouped_query_decode, cache_mask=rewritten(key_value.cache_mask, _is_behind=no_sinks))
    },
    "rewound to where the window is forgotten": {
        "rewind": rewritten(key_value.rewind, "past.window is not None", "False")
    },
}
STALE = rewritten(paged._tokens, "[:, :length]", "")
PAGED_BUGS = {
    "left padding is counted as tokens": {
        "read": rewritten(paged.gather_pages, "(longest - pages.n_seen[:, None])", "0 * pages.n_seen[:, None]")
    },
    "fork tiles the rows": {"fork": rewritten(paged.fork_pages, forked_rows=TILED)},
    "tables not reordered": {
        "reorder": rewritten(paged.reorder_pages, "pages.tables[int(rows[i])]", "pages.tables[0 * int(rows[i])]")
    },
    "stale slots are read": {
        "append": rewritten(paged.append_pages, _longer=rewritten(paged._longer, _tokens=STALE))
    },
    "last page dropped at a boundary": {
        "rewind": rewritten(paged.rewind_pages, "-(-int(n_seen[i]) // n_slot)", "int(n_seen[i]) // n_slot")
    },
    "tail taken from the wrong side of a boundary": {
        "append": rewritten(
            paged.append_pages,
            _longer=rewritten(paged._longer, "n_full = length // n_slot", "n_full = -(-length // n_slot)"),
        )
    },
    "written in place": {"append": written_in_place},
}


def rejects(**verbs):
    with pytest.raises(AssertionError), np.errstate(all="ignore"):
        check(shrink=False, **verbs)


@pytest.mark.parametrize("bug", DENSE_BUGS)
def test_a_wrong_cache_is_rejected(bug):
    rejects(dense=replace(DENSE, **DENSE_BUGS[bug]))


@pytest.mark.parametrize("bug", WINDOW_BUGS)
def test_a_wrong_window_is_rejected(bug):
    rejects(windowed=replace(DENSE, **WINDOW_BUGS[bug]))


@pytest.mark.parametrize("bug", PAGED_BUGS)
def test_a_wrong_page_is_rejected(bug):
    rejects(paged=replace(PAGED, **PAGED_BUGS[bug]))
