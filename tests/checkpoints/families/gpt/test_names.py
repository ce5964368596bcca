import numpy as np
import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.gpt.names import GPT_NAMES, gpt_model_type, gpt_rows
from refimpl.models.gpt.config import GptConfig

GPT2 = GptConfig(vocab_size=7, n_position=5, d_model=6, n_head=2, n_layer=2, d_ff=8, n_label=3)
GPT1 = GptConfig(vocab_size=7, n_position=5, d_model=6, n_head=2, n_layer=2, d_ff=24, norm_first=False)
UNTIED = GptConfig(vocab_size=7, n_position=5, d_model=6, n_head=2, n_layer=2, d_ff=8, tied=False)
FAMILY = pytest.mark.parametrize("config", [GPT1, GPT2, UNTIED], ids=["gpt1", "gpt2", "untied"])
PUBLISHED = {
    "GPT-1, 117 M": ({"vocab_size": 40478, "n_position": 512, "norm_first": False}, 768, 12, 116_534_784),
    "GPT-2, 124 M": ({}, 768, 12, 124_439_808),
    "GPT-2 medium": ({}, 1024, 24, 354_823_168),
    "GPT-2 large": ({}, 1280, 36, 774_030_080),
    "GPT-2 XL, 1.5 B": ({}, 1600, 48, 1_557_611_200),
    "GPT-3, 175 B": ({"n_position": 2048, "window": 256}, 12288, 96, 174_604_259_328),
}


def names_of(config):
    return GPT_NAMES[gpt_model_type(config)]


def tensors_of(config, *groups):
    """Theirs, no two of the same numbers, with the prefix of a model that has a head."""
    rng = np.random.default_rng(0)
    rows = names_of(config).filled(config, "transformer.")
    return {row.theirs[0]: rng.normal(size=row.shape) for row in rows if row.group in {"backbone", *groups}}


@FAMILY
@pytest.mark.parametrize("group", ["head", "classifier"])
def test_there_and_back_is_the_same(config, group):
    theirs = tensors_of(config, group)
    ours = names_of(config).from_hf(theirs, config)
    assert all(key in ours for key in ("token.weight", "layers.1.linear2.bias"))
    back = names_of(config).to_hf(ours, config)
    assert back.keys() == theirs.keys()
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(back[name], tensor)


@FAMILY
def test_conv1d_is_turned_and_nothing_else_is(config):
    theirs = tensors_of(config)
    ours = names_of(config).from_hf(theirs, config)
    for ending, key in [
        ("attn.c_attn", "self_attn.in_proj_"), ("attn.c_proj", "self_attn.out_proj."), ("mlp.c_fc", "linear1."),
        ("mlp.c_proj", "linear2."),
    ]:  # fmt: skip
        np.testing.assert_array_equal(ours[f"layers.1.{key}weight"], theirs[f"transformer.h.1.{ending}.weight"].T)
        np.testing.assert_array_equal(ours[f"layers.1.{key}bias"], theirs[f"transformer.h.1.{ending}.bias"])
    table = "wte" if config.norm_first else "tokens_embed"
    np.testing.assert_array_equal(ours["token.weight"], theirs[f"transformer.{table}.weight"])


def test_in_proj_is_query_then_key_then_value():
    theirs = tensors_of(GPT2)
    ours = names_of(GPT2).from_hf(theirs, GPT2)
    q, k, v = np.split(theirs["transformer.h.0.attn.c_attn.weight"], 3, axis=1)
    np.testing.assert_array_equal(ours["layers.0.self_attn.in_proj_weight"], np.concatenate([q.T, k.T, v.T]))


def test_buffers_of_older_versions_are_no_weights():
    buffers = {
        "transformer.h.0.attn.bias": np.tril(np.ones((1, 1, 5, 5), np.uint8)),
        "transformer.h.1.attn.bias": np.tril(np.ones((1, 1, 5, 5), bool)),
        "transformer.h.0.attn.masked_bias": np.float32(-1e4).reshape(()),
    }
    theirs = tensors_of(GPT2)
    assert names_of(GPT2).from_hf(theirs | buffers, GPT2).keys() == names_of(GPT2).from_hf(theirs, GPT2).keys()
    positions = {"transformer.position_ids": np.arange(5)}
    assert names_of(GPT1).from_hf(tensors_of(GPT1) | positions, GPT1)


def test_a_buffer_that_is_no_causal_mask_is_refused():
    wrong = {"transformer.h.1.attn.bias": np.ones((1, 1, 5, 5))}
    with pytest.raises(CheckpointError, match=r"h\.1\.attn\.bias must hold the constants of causal_buffer"):
        names_of(GPT2).from_hf(tensors_of(GPT2) | wrong, GPT2)


def test_a_tied_head_may_be_there_twice_but_not_differ():
    theirs = tensors_of(GPT2)
    twice = theirs | {"lm_head.weight": theirs["transformer.wte.weight"].copy()}
    assert "head.weight" not in names_of(GPT2).from_hf(twice, GPT2)
    with pytest.raises(CheckpointError, match=r"lm_head\.weight must equal transformer\.wte\.weight"):
        names_of(GPT2).from_hf(theirs | {"lm_head.weight": np.zeros((7, 6))}, GPT2)


def test_faults_are_named():
    theirs = tensors_of(GPT2)
    theirs["transformer.h.0.mlp.c_fc.weight"] = theirs["transformer.h.0.mlp.c_fc.weight"].T
    theirs["transformer.h.0.crossattention.bias"] = np.zeros(6)
    del theirs["transformer.ln_f.bias"]
    with pytest.raises(CheckpointError) as caught:
        names_of(GPT2).from_hf(theirs, GPT2)
    for words in (
        "missing transformer.ln_f.bias", "unexpected 'transformer.h.0.crossattention.bias'", "probably transposed",
    ):  # fmt: skip
        assert words in str(caught.value)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes(name):
    changes, d_model, n_layer, n_parameter = PUBLISHED[name]
    sizes = {"vocab_size": 50257, "n_position": 1024, "n_head": d_model // 64, "d_ff": 4 * d_model} | changes
    config = GptConfig(**sizes, d_model=d_model, n_layer=n_layer)
    shapes = [row.our_shape for row in gpt_rows(config) if row.group == "backbone"]
    assert sum(int(np.prod(shape)) for shape in shapes) == n_parameter
