import numpy as np
import pytest

from refimpl.recurrent.names import cells_of, check_cell, linear_part, named_part

CELL = {"weight_ih": np.ones((6, 3)), "weight_hh": np.ones((6, 2)), "bias_hh": np.ones(6)}


def test_parts_go_and_come_back():
    part = linear_part(CELL, "hh")
    assert part.keys() == {"weight", "bias"}
    assert named_part("hh", part).keys() == {"weight_hh", "bias_hh"}
    assert linear_part(CELL, "ih").keys() == {"weight"}
    assert linear_part(CELL, "hr") == {}


def test_sizes_are_read_off_the_weights():
    assert check_cell(CELL, 3, n_gate=3) == (2, 2)
    projected = {"weight_ih": np.ones((8, 3)), "weight_hh": np.ones((8, 1)), "weight_hr": np.ones((1, 2))}
    assert check_cell(projected, 3, n_gate=4, may_project=True) == (1, 2)


def test_cells_stand_in_the_order_of_torch():
    stack = {
        f"{key}_l{layer}{way}": np.ones((2, 3 if layer == 0 else 4) if key == "weight_ih" else (2, 2))
        for layer in range(2)
        for way in ("", "_reverse")
        for key in ("weight_ih", "weight_hh")
    }
    cells = cells_of(stack, 3, n_gate=1, n_layer=2, n_direction=2, may_project=False)
    assert [cell.suffix for cell in cells] == ["_l0", "_l0_reverse", "_l1", "_l1_reverse"]
    assert [cell.is_reverse for cell in cells] == [False, True, False, True]
    assert cells[3].rename({"weight_hh": 1}) == {"weight_hh_l1_reverse": 1}


def test_messages_have_the_name_that_the_caller_gave():
    with pytest.raises(ValueError, match=r"weight_ih_l7 must have shape \(6, 4\), got \(6, 3\)"):
        check_cell(CELL, 4, n_gate=3, suffix="_l7")
    with pytest.raises(ValueError, match=r"weight_hr_l7 must have shape \(any, 2\), got \(1, 3\)"):
        check_cell({**CELL, "weight_hr": np.ones((1, 3))}, 3, n_gate=3, may_project=True, suffix="_l7")
