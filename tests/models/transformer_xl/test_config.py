from dataclasses import replace

import pytest

from tests.models.transformer_xl.small import CONFIG


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 5}, "d_model must be even, got 5"),
        ({"n_layer": 0}, "n_layer must be at least 1, got 0"),
        ({"n_head": True}, "n_head must be an integer, got True"),
        ({"n_memory": -1}, "n_memory must be at least 0, got -1"),
        ({"cutoffs": (7, 4)}, r"cutoffs must be rising, and below vocab_size = 11, got \(7, 4\)"),
        ({"cutoffs": (4, 11)}, r"cutoffs must be rising, and below vocab_size = 11, got \(4, 11\)"),
        ({"cutoffs": (0, 4)}, "cutoffs must be at least 1, got 0"),
        ({"cutoffs": [4, 7]}, r"cutoffs must be a tuple, got \[4, 7\]"),
        ({"div_val": 3}, "div_val must be so small that the last cluster has a width, got 3"),
        ({"pre_norm": 1}, "pre_norm must be True or False, got 1"),
        ({"norm_eps": 0.0}, "norm_eps must be positive, got 0.0"),
        ({"same_length": True, "n_memory": 0}, "n_memory must be positive where same_length is True"),
    ],
)
def test_settings_that_do_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **change)


def test_widths_and_tables():
    assert CONFIG.widths == (8, 4, 2)
    assert CONFIG.table_cutoffs == (4, 7)
    one = replace(CONFIG, div_val=1)
    assert (one.widths, one.table_cutoffs, one.projected) == ((8, 8, 8), (), True)
    assert not replace(one, d_embed=6).projected
