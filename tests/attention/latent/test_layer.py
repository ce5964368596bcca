from functools import partial

import numpy as np
import pytest

from compare.cases.latent import latent_shapes
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.latent.layer import absorbed_latent_attention, latent_attention, latent_decode
from refimpl.attention.latent.params import check_latent
from refimpl.positions.rotary import rotary

GENERATOR = np.random.default_rng(5)
X = GENERATOR.standard_normal((2, 4, 7))
SIZES = {"d_nope": 3, "d_rope": 2, "d_value": 5, "d_latent": 6, "d_low": 4}
PARAMS = {key: GENERATOR.standard_normal(shape) for key, shape in latent_shapes(7, n_head=3, **SIZES).items()}
for_both = pytest.mark.parametrize("function", [latent_attention, absorbed_latent_attention], ids=lambda f: f.__name__)


def test_the_sizes_are_those_of_the_parameters():
    assert check_latent(X, PARAMS, 3, None) == (3, 2)


@for_both
def test_one_position_gives_its_own_value(function):
    """One position attends to itself with weight 1: the values of its latent, mixed."""
    x = X[:, :1]
    down = x @ PARAMS["kv_a_proj_with_mqa.weight"][:6].T
    latent = down / np.sqrt(np.mean(down * down, axis=-1, keepdims=True) + 1e-6) * PARAMS["kv_a_layernorm.weight"]
    up = PARAMS["kv_b_proj.weight"].reshape(3, 8, 6)[:, 3:]
    want = np.einsum("bnl,hvl->bnhv", latent, up).reshape(2, 1, 15) @ PARAMS["o_proj.weight"].T
    y, _ = function(x, PARAMS, n_head=3, rotate=rotary)
    # Sums of at most 15 products each, four of them in a row.
    bound = (
        4
        * 15
        * np.finfo(np.float64).eps
        * (np.abs(up).sum() * np.abs(PARAMS["o_proj.weight"]).max() * np.abs(latent).max())
    )
    assert np.max(np.abs(y - want)) <= bound


@for_both
def test_the_latents_and_not_the_rotated_key_go_through_the_norm(function):
    """Stretching the rows of the latent changes nothing but for eps; stretching those of the rotated key does."""
    stretched = PARAMS["kv_a_proj_with_mqa.weight"].copy()
    stretched[:6] *= 4.0
    rotated = PARAMS["kv_a_proj_with_mqa.weight"].copy()
    rotated[6:] *= 4.0
    y, same, other = (
        function(X, {**PARAMS, "kv_a_proj_with_mqa.weight": weight}, n_head=3, eps=0.0)[0]
        for weight in (PARAMS["kv_a_proj_with_mqa.weight"], stretched, rotated)
    )
    # A power of two passes through the norm without rounding.
    np.testing.assert_array_equal(same, y)
    assert np.any(other != y)


def test_the_cache_holds_one_latent_and_one_rotated_key_a_position():
    past = empty_cache(2, 1, 8, like=X, d_value=0)
    _, grown = latent_decode(X, PARAMS, past, n_head=3, rotate=partial(rotary, layout="interleaved"))
    assert grown.k.shape == (2, 1, 4, 8)
    assert grown.v.shape == (2, 1, 4, 0)
    assert past.k.shape == (2, 1, 0, 8)


@for_both
def test_bad_input_is_refused(function):
    def call(n_head=3, mask=None, without=(), **changes):
        params = {key: value for key, value in {**PARAMS, **changes}.items() if key not in without}
        function(X, params, n_head=n_head, mask=mask)

    with pytest.raises(ValueError, match="n_head must be at least 1, got 0"):
        call(n_head=0)
    with pytest.raises(ValueError, match=r"must have shape \(\d+, \d+\), got"):
        call(n_head=4)
    with pytest.raises(ValueError, match=r"kv_b_proj.weight must have shape \(24, 6\), got \(24, 5\)"):
        call(**{"kv_b_proj.weight": np.zeros((24, 5))})
    with pytest.raises(ValueError, match=r"o_proj.weight must have shape \(7, 15\), got \(7, 14\)"):
        call(**{"o_proj.weight": np.zeros((7, 14))})
    with pytest.raises(ValueError, match="d_rope must be at least 0"):
        call(**{"kv_a_proj_with_mqa.weight": np.zeros((5, 7))})
    with pytest.raises(ValueError, match="params must have the keys"):
        call(without=["q_a_proj.weight"])
    with pytest.raises(ValueError, match="params must have the keys"):
        call(without=["kv_a_layernorm.weight"])
    with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 3, 4, 4\), got \(5, 5\)"):
        call(mask=np.ones((5, 5), bool))
    with pytest.raises(TypeError, match="must have the dtype of x"):
        call(**{"o_proj.weight": np.zeros((7, 15), np.float32)})
