"""Is each convention of the ledger what `transformers` does?"""

import inspect

import numpy as np
import pytest
import torch
import transformers
from transformers.activations import ACT2FN
from transformers.models.openai.modeling_openai import ACT_FNS
from transformers.pytorch_utils import Conv1D

from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.ledger import conventions, families, gate_orders
from refimpl.layers.activation import activation_named
from tests.checkpoints.tiny import ELSEWHERE, TINY, tiny_config, tiny_model

ALL = [name for name in families() if name not in ELSEWHERE]
PLACES = {"norm_place": ("first", "last"), "norm": ("layer", "rms"), "weights": ("out, in", "in, out")} | {
    "qkv": ("apart", "fused", "fused by head"),
    "positions": ("learned", "sinusoidal", "rotary", "alibi", "bucketed"),
    "rotary": ("", "half", "interleaved"),
}
QKV = ("query_key_value", "c_attn", "q_proj", "q_lin", ".q.", ".query.")


@pytest.fixture(scope="module")
def models():
    return {name: tiny_model(conventions(name).class_name, tiny_config(name)) for name in ALL}


def their_activation(name, theirs):
    if name == "openai-gpt":
        return ACT_FNS[theirs]
    if name == "t5":
        theirs = tiny_config("t5", feed_forward_proj=theirs).dense_act_fn
    return ACT2FN[theirs]


def tied_names(model, prefix):
    pairs = model.all_tied_weights_keys.items()
    return {second.removeprefix(prefix): first.removeprefix(prefix) for second, first in pairs}


def norms_of(model):
    return [module for module in model.modules() if "Norm" in type(module).__name__]


def eps_of(norm):
    return norm.eps if hasattr(norm, "eps") else norm.variance_epsilon


def test_every_family_that_loads_has_an_entry_and_a_tiny_model():
    assert set(FAMILIES) - ELSEWHERE <= set(ALL) == set(TINY)


@pytest.mark.parametrize("name", ALL)
def test_every_entry_says_one_of_what_it_may_say(name):
    entry = conventions(name)
    for convention, choices in PLACES.items():
        assert getattr(entry, convention) in choices
    assert (entry.positions == "rotary") == bool(entry.rotary)


@pytest.mark.parametrize("name", ALL)
def test_defaults_are_those_of_transformers(name):
    defaults = transformers.AutoConfig.for_model(name).to_dict()
    for key, expected in conventions(name).defaults().items():
        got = defaults[key]
        assert (-1 if got is None and key == "pad_token_id" else got) == expected, key


@pytest.mark.parametrize("name", ALL)
def test_the_head_is_tied_by_the_names_that_it_says(name, models):
    entry, model = conventions(name), models[name]
    if not entry.tied.default:
        assert not tied_names(model, entry.prefix)
        model = tiny_model(entry.class_name, tiny_config(name, **({entry.tied.key: True} if entry.tied.key else {})))
    assert tied_names(model, entry.prefix) == dict(entry.tied_names)


@pytest.mark.parametrize("name", ALL)
def test_the_prefix_stands_before_the_names_of_the_backbone(name, models):
    prefix = conventions(name).prefix
    with torch.device("meta"):
        bare = transformers.AutoModel.from_config(tiny_config(name)).state_dict()
    backbone = {key for key in bare if not key.startswith("pooler")}
    assert backbone <= {key.removeprefix(prefix) for key in models[name].state_dict() if key.startswith(prefix)}
    assert not any(key.startswith(prefix) for key in bare if prefix)


@pytest.mark.parametrize("name", ALL)
def test_matrices_lie_as_it_says(name, models):
    linear = [module for module in models[name].modules() if isinstance(module, torch.nn.Linear)]
    turned = [module for module in models[name].modules() if isinstance(module, Conv1D)]
    assert bool(turned) == (conventions(name).weights == "in, out")
    assert linear or turned
    assert all(module.weight.shape == (module.nx, module.nf) for module in turned)


@pytest.mark.parametrize("name", ALL)
def test_query_key_and_value_are_kept_as_it_says(name, models):
    keys = [key for key in models[name].state_dict() if any(part in key for part in QKV)]
    kept = "fused by head" if "query_key_value" in keys[0] else "fused" if "c_attn" in keys[0] else "apart"
    assert kept == conventions(name).qkv


@pytest.mark.parametrize("name", ALL)
def test_norms_are_of_the_kind_and_the_eps_that_it_says(name, models):
    entry, norms = conventions(name), norms_of(models[name])
    assert all(isinstance(norm, torch.nn.LayerNorm) == (entry.norm == "layer") for norm in norms)
    assert {eps_of(norm) for norm in norms} == {entry.norm_eps.default}
    if entry.norm_eps.key:
        other = tiny_model(entry.class_name, tiny_config(name, **{entry.norm_eps.key: 0.25}))
        assert {eps_of(norm) for norm in norms_of(other)} == {0.25}


@pytest.mark.parametrize("name", ALL)
def test_a_norm_weight_is_stored_with_the_offset_that_it_says(name, models, generator):
    entry, model = conventions(name), models[name]
    norm = norms_of(model)[0]
    x = torch.from_numpy(generator.standard_normal((5, norm.weight.shape[0])))
    with torch.no_grad():
        got = norm.double()(x)
        centred = x - x.mean(-1, keepdim=True) if entry.norm == "layer" else x
        expected = centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + entry.norm_eps.default)
        expected = expected * (norm.weight + entry.norm_offset) + (norm.bias if entry.norm == "layer" else 0)
    # An offset of 1 changes y by about its size; the RMS norms of `transformers` compute in float32 even here.
    assert float((got - expected).abs().max()) < 2.0**-12


@pytest.mark.parametrize("name", ALL)
def test_activations_mean_what_it_says(name):
    entry = conventions(name)
    x = np.linspace(-4, 4, 101)
    for theirs, ours in entry.activations.items():
        got = their_activation(name, theirs)(torch.from_numpy(x)).numpy()
        # The two GELUs differ by 4.7e-4.
        assert np.abs(got - activation_named(ours)(x)[0]).max() < 2.0**-40, theirs
    if entry.activation.key:
        assert entry.activation.default in entry.activations
    else:
        assert entry.activation.default in ("gelu", "gelu_tanh", "relu", "silu", "quick_gelu")


@pytest.mark.parametrize("name", [name for name in ALL if conventions(name).positions == "learned" and name != "clip"])
def test_the_first_token_has_the_row_of_positions_that_it_says(name, models):
    entry, model = conventions(name), models[name].float()
    table_name, table = next(
        (key, value) for key, value in model.named_parameters()
        if any(part in key for part in ("position_embeddings", "embed_positions", "wpe", "positions_embed"))
    )  # fmt: skip
    ids = torch.tensor([[5, 6, 7, 8]])
    logits = model(input_ids=ids)[0]
    logits.double().pow(2).sum().backward()
    used = sorted(set(torch.nonzero(table.grad.abs().sum(1))[:, 0].tolist()))
    offset = entry.position_offset
    first = offset if isinstance(offset, int) else eval(offset, {}, model.config.to_dict())
    assert used[:4] == [first + i for i in range(4)], table_name


@pytest.mark.parametrize("name", [name for name in ALL if conventions(name).rotary])
def test_features_are_turned_in_the_pairs_that_it_says(name, models):
    module = inspect.getmodule(type(models[name]))
    turned = module.rotate_half(torch.arange(1.0, 7.0)).tolist()
    pairs = {"half": [-4.0, -5.0, -6.0, 1.0, 2.0, 3.0], "interleaved": [-2.0, 1.0, -4.0, 3.0, -6.0, 5.0]}
    assert turned == pairs[conventions(name).rotary]


@pytest.mark.parametrize("name", ALL)
def test_embeddings_are_scaled_where_it_says(name):
    setting = conventions(name).embedding_scale
    assert hasattr(tiny_config(name), "scale_embedding") == bool(setting.key)


def test_gates_lie_as_torch_keeps_them():
    """Shut one gate after the other, and see what the cell does."""
    torch.manual_seed(0)
    lstm, gru = torch.nn.LSTMCell(1, 1), torch.nn.GRUCell(1, 1)
    x, h, c = torch.ones(1, 1), torch.full((1, 1), 0.5), torch.full((1, 1), 0.7)
    orders = gate_orders()["torch"]

    @torch.no_grad()
    def shut(cell, order, gate, *state):
        for parameter in cell.parameters():
            parameter.zero_()
        cell.bias_ih.copy_(torch.tensor([-1e3 if letter == gate else 0.5 for letter in order]))
        return cell(x, *state)

    def is_about(got, expected):  # a gate in another place changes the state by tenths; half the bits of float32
        return abs(float(got) - expected) < 2.0**-12

    bent, opened = np.tanh(0.5), 1 / (1 + np.exp(-0.5))
    assert float(shut(lstm, orders["lstm"], "o", (h, c))[0]) == 0
    assert is_about(shut(lstm, orders["lstm"], "f", (h, c))[1], opened * bent)
    assert is_about(shut(lstm, orders["lstm"], "i", (h, c))[1], 0.7 * opened)
    assert is_about(shut(gru, orders["gru"], "z", h), bent)
