"""Checks name the argument, what was expected and what came."""

import re

import numpy as np
import pytest

from compare.interpretations import cost, strict_device
from refimpl.arrays import (
    check_boolean,
    check_broadcastable,
    check_floating,
    check_gradient,
    check_gradients,
    check_ids,
    check_integers,
    check_params,
    check_rank,
    check_scopes,
    check_setting,
    check_shape,
    check_shapes,
    narrow,
)


def refuses(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


X = np.ones((2, 3))


@pytest.mark.parametrize("expected", [(2, 3), (None, 3), (2, None), (None, None), [2, 3]])
def test_shapes_that_fit(expected):
    check_shape("x", X, expected)


@pytest.mark.parametrize(
    ("expected", "text"),
    [((3, 2), "(3, 2)"), ((2, 4), "(2, 4)"), ((None, 2), "(any, 2)"), ((2, 3, 1), "(2, 3, 1)"), ((6,), "(6,)"),
     ((), "()")],
)  # fmt: skip
def test_shapes_that_do_not_fit(expected, text):
    with refuses(ValueError, f"x must have shape {text}, got (2, 3)"):
        check_shape("x", X, expected)


def test_the_message_of_the_contract():
    with refuses(ValueError, "weight must have shape (16,), got (32,)"):
        check_shape("weight", np.ones(32), (16,))


def test_rank():
    check_rank("x", X, 2)
    with refuses(ValueError, "x must have at least 3 axes, got shape (2, 3)"):
        check_rank("x", X, 3)


def test_floating_arrays_of_one_dtype_pass():
    check_floating(x=X, mask=None, params={"weight": X, "bias": X})
    check_floating(x=narrow(X, "bfloat16"), y=narrow(X, "bfloat16"))
    check_floating(x=X.astype(complex))
    check_floating()


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_integers_and_booleans_are_not_floating(dtype):
    with refuses(TypeError, f"params['weight'] must be a floating array, got dtype {dtype}"):
        check_floating(x=X, params={"weight": X.astype(dtype)})


def test_mixed_dtypes_are_not_promoted():
    with refuses(TypeError, "params['bias'] must have the dtype of x, float32, got float64"):
        check_floating(x=X.astype(np.float32), params={"weight": X.astype(np.float32), "bias": X})
    with refuses(TypeError, "y must have the dtype of x, float16, got bfloat16"):
        check_floating(x=narrow(X, "float16"), y=narrow(X, "bfloat16"))


def test_masks():
    check_boolean(mask=X > 0, keep=None)
    with refuses(TypeError, "mask must be a boolean array (True attends, or keeps), got dtype float64"):
        check_boolean(keep=X > 0, mask=X)


IDS = np.array([[0, 4], [2, 1]])


@pytest.mark.parametrize("ids", [IDS, IDS.astype(np.uint8), np.zeros((0, 3), np.int32), strict_device.asarray(IDS),
                                 cost.lift(IDS)])  # fmt: skip
def test_ids_in_range(ids):
    check_ids("ids", ids, 5)


def test_ids_out_of_range():
    with refuses(ValueError, "ids must lie in [0, 4), got values from 0 to 4"):
        check_ids("ids", IDS, 4)
    with refuses(ValueError, "ids must lie in [0, 5), got values from -1 to 3"):
        check_ids("ids", IDS - 1, 5)
    with refuses(ValueError, "ids must lie in [0, 4), got values from 0 to 4"):
        check_ids("ids", strict_device.asarray(IDS), 4)


@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_ids_are_integers(dtype):
    with refuses(TypeError, f"ids must be an integer array, got dtype {dtype}"):
        check_ids("ids", IDS.astype(dtype), 5)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (4, 2, 3), (1, 1, 1)])
def test_what_broadcasts(shape):
    check_broadcastable("mask", np.ones(shape), (4, 2, 3))


@pytest.mark.parametrize(("shape", "text"), [((2,), "(2,)"), ((3, 1, 3), "(3, 1, 3)"), ((1, 4, 2, 3), "(1, 4, 2, 3)")])
def test_what_does_not_broadcast(shape, text):
    with refuses(ValueError, f"mask must broadcast to (4, 2, 3), got {text}"):
        check_broadcastable("mask", np.ones(shape), (4, 2, 3))


def test_what_would_enlarge_does_not_broadcast():
    with refuses(ValueError, "mask must broadcast to (1, 3), got (2, 3)"):
        check_broadcastable("mask", X, (1, 3))


def test_params_that_fit():
    check_params({"weight": X}, ["weight"], ["bias"])
    check_params({"weight": X, "bias": X}, ["weight"], ["bias"])
    check_params({}, [])


def test_missing_and_unknown_params():
    with refuses(ValueError, "params must have the keys weight, bias (optional), got none"):
        check_params({}, ["weight"], ["bias"])
    with refuses(ValueError, "params must have the keys weight, bias (optional), got biass, weight"):
        check_params({"weight": X, "biass": X}, ["weight"], ["bias"])


def test_params_are_a_dict():
    with refuses(TypeError, "params must be a dict of arrays, got ndarray"):
        check_params(X, ["weight"])


def test_settings():
    check_setting("rate", 0.1, True, "in [0, 1)")
    with refuses(ValueError, "reduction must be 'mean' or 'sum', got 'avg'"):
        check_setting("reduction", "avg", False, "'mean' or 'sum'")


def test_a_dict_is_no_array_but_parameters_are():
    with pytest.raises(TypeError, match="x must be an array, got dict"):
        check_floating(x={"weight": np.ones(2)})
    check_floating(params={"weight": np.ones(2)})


def test_parameters_without_names_are_refused():
    with pytest.raises(TypeError, match="params must have names as keys, got 1"):
        check_params({1: np.ones(2)}, [])


def test_gradients_of_what_was_returned_pass():
    check_gradient(X, (2, 3), X.dtype)
    # For derivatives by complex step one of the two is complex.
    check_gradient(X, (2, 3), np.dtype(np.complex128))
    check_gradient(X + 0j, (2, 3), X.dtype)
    check_gradients((X, None), (X, X), none=(1,))


def test_gradients_of_something_else():
    with refuses(ValueError, "dy must have shape (2, 3), got (1, 2, 3)"):
        check_gradient(X[None], (2, 3), X.dtype)
    with refuses(TypeError, "dy must have dtype float64, got float32"):
        check_gradient(X.astype(np.float32), (2, 3), X.dtype)
    with refuses(TypeError, "dy must have dtype complex128, got int64"):
        check_gradient(X.astype(np.int64), (2, 3), np.dtype(np.complex128))
    with refuses(TypeError, "dy must be an array, got list"):
        check_gradient(X.tolist(), (2, 3), X.dtype)


def test_gradients_too_many_or_too_few():
    with refuses(ValueError, "dy must be a tuple of 2 gradients, got 3"):
        check_gradients((X, X, X), (X, X))
    with refuses(TypeError, "dy must be a tuple of 2 gradients, got ndarray"):
        check_gradients(X, (X, X))
    with refuses(TypeError, "dy[1] must be an array, got NoneType"):
        check_gradients((None, None), (X, X), none=(0,))
    with refuses(ValueError, "dy[0] must have shape (2, 3), got (3,)"):
        check_gradients((X[0], X), (X, X))


def test_parameters_of_a_configuration():
    check_shapes({"weight": X}, {"weight": (2, 3)})
    with refuses(ValueError, "weight must have shape (3, 3), got (2, 3)"):
        check_shapes({"weight": X}, {"weight": (3, 3)})
    with refuses(ValueError, "params must have the keys weight, got bias, weight"):
        check_shapes({"weight": X, "bias": X}, {"weight": (2, 3)})
    with refuses(TypeError, "weight must be an array, got NoneType"):
        check_shapes({"weight": None}, {"weight": (2, 3)})


def test_a_parameter_is_never_none():
    with refuses(TypeError, "params['bias'] must be an array, got NoneType"):
        check_floating(x=X, mask=None, params={"bias": None})


def test_what_does_not_end_in_a_dot_is_a_whole_key():
    check_scopes({"class": X, "norm.weight": X}, ["class", "norm."])
    with refuses(ValueError, "params must have keys below class, norm. only, got class.stray, norm"):
        check_scopes({"class.stray": X, "norm": X}, ["class", "norm."])


def test_unsigned_integers_of_64_bits_become_floats():
    check_integers("ids", np.zeros(2, np.uint32))
    with refuses(TypeError, "ids must be an integer array that int64 can hold, got dtype uint64"):
        check_integers("ids", np.zeros(2, np.uint64))
