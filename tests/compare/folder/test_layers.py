"""A checkpoint with one thing spoiled in one layer: the comparison must name this layer, and no other."""

import numpy as np
import pytest
import torch

from compare.folder.inputs import draw_inputs
from compare.folder.job import finding
from compare.folder.layers import ALONE, IN_MODEL
from compare.folder.ours import KINDS, reads_two
from refimpl.checkpoints import FAMILIES
from refimpl.models.gpt.config import GptConfig
from refimpl.positions.rotary_layout import half_to_interleaved
from tests.checkpoints.tiny import tiny_config, tiny_model
from tests.compare.folder.compared import CLASSES, compared


@pytest.mark.parametrize(("eos_id", "left"), [(None, {0, 1, 2}), (2, {0, 1}), ((0, 2), {1})])
def test_no_token_that_ends_a_text_is_drawn(eos_id, left):
    config = GptConfig(vocab_size=4, n_position=32, d_model=2, n_head=1, n_layer=1, d_ff=2, pad_id=3, eos_id=eos_id)
    assert set(np.ravel(draw_inputs("gpt2", config, n_seq=32)["token_ids"]).tolist()) == left


def test_every_family_that_loads_is_compared():
    assert {*KINDS} == {*FAMILIES}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "class_name"), CLASSES, ids=[class_name for _, class_name in CLASSES])
def test_what_is_equal_passes_in_every_stage(name, class_name, dtype, folders):
    layers = compared(folders(name, class_name), class_name, dtype)
    assert layers.first(ALONE) is None
    assert layers.first(IN_MODEL) is None
    assert all(figures["passed"] for side in layers.reference.values() for figures in side.values())
    assert finding(dtype, layers.peer) == f"In {dtype} every stage is equal to rounding."
    n_layer = sum("layer" in stage for stage in layers.peer)
    assert n_layer == (5 if reads_two(name) or name == "clip" else 3)
    assert any("embeddings" in stage for stage in layers.peer)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_sinusoids_that_a_file_holds_in_half_precision_are_no_fault_of_the_model(half, tmp_path):
    class_name = "PegasusModel"
    model = tiny_model(class_name, tiny_config("pegasus")).to(half)
    model.save_pretrained(tmp_path)
    layers = compared(tmp_path, class_name, "float32")
    assert layers.first(ALONE) is layers.first(IN_MODEL) is None
    # Sinusoids that are wrong still are.
    layers = compared(tmp_path, class_name, "float32", lambda model: model.encoder.embed_positions.weight.mul_(1.001))
    assert layers.first(ALONE) == "encoder embeddings"


def transposed(matrix):
    matrix.copy_(matrix.T.clone())


def exchanged(a, b):
    a_before = a.clone()
    a.copy_(b)
    b.copy_(a_before)


def shuffled(projection, n_head):
    projection.weight.copy_(torch.tensor(half_to_interleaved(projection.weight.numpy(), n_head=n_head)))


def bert_layer(model, i):
    return model.bert.encoder.layer[i]


def spoil_eps(layer):
    layer.output.LayerNorm.eps = 1e-3


def spoil_gelu(layer):
    layer.intermediate.intermediate_act_fn = torch.nn.GELU(approximate="tanh")


BERT_MISTAKES = {
    "a square matrix transposed": lambda layer: transposed(layer.attention.output.dense.weight),
    "query and key exchanged": lambda layer: exchanged(
        layer.attention.self.query.weight, layer.attention.self.key.weight
    ),
    "eps of one norm": spoil_eps,
    "tanh GELU for erf GELU": spoil_gelu,
    "one bias off by a thousandth": lambda layer: layer.output.dense.bias.mul_(1.001),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("i", [0, 1, 2])
@pytest.mark.parametrize("mistake", BERT_MISTAKES)
def test_a_spoiled_layer_of_bert_is_named(mistake, i, dtype, folders):
    folder = folders("bert", "BertForPreTraining")
    spoil = BERT_MISTAKES[mistake]
    layers = compared(folder, "BertForPreTraining", dtype, lambda model: spoil(bert_layer(model, i)))
    assert layers.first(ALONE) == layers.first(IN_MODEL) == f"layer {i}"
    assert [stage for stage, figures in layers.peer.items() if not figures[ALONE]["passed"]] == [f"layer {i}"]
    said = finding(dtype, layers.peer)
    assert said.startswith(f"In {dtype} layer {i} is the first that differs, by an error of its own")
    # Whatever reads it inherits the error, unless it is too small to be seen through the sum of all tolerances.
    assert "inherit" in said or mistake in ("eps of one norm", "one bias off by a thousandth")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_shuffled_rotary_layout_is_named(dtype, folders):
    folder = folders("llama", "LlamaForCausalLM")

    def spoil(model):
        shuffled(model.model.layers[1].self_attn.q_proj, 6)
        shuffled(model.model.layers[1].self_attn.k_proj, 2)

    layers = compared(folder, "LlamaForCausalLM", dtype, spoil)
    assert layers.first(ALONE) == layers.first(IN_MODEL) == "layer 1"
    assert [stage for stage, figures in layers.peer.items() if not figures[ALONE]["passed"]] == ["layer 1"]


@pytest.mark.parametrize(
    ("path", "stage"),
    [
        ("model.encoder.embed_positions", "encoder embeddings"),
        ("model.encoder.layers.1.fc1", "encoder layer 1"),
        ("model.decoder.layers.0.encoder_attn.v_proj", "decoder layer 0"),
        ("model.decoder.layers.2.self_attn.k_proj", "decoder layer 2"),
    ],
)
def test_a_spoiled_half_of_an_encoder_decoder_is_named(path, stage, folders):
    folder = folders("bart", "BartForConditionalGeneration")
    layers = compared(
        folder, "BartForConditionalGeneration", "float64", lambda model: model.get_submodule(path).weight.mul_(1.01)
    )
    assert layers.first(ALONE) == layers.first(IN_MODEL) == stage
    assert [name for name, figures in layers.peer.items() if not figures[ALONE]["passed"]] == [stage]


@pytest.mark.parametrize(
    ("path", "stage"),
    [("transformer.wpe", "embeddings"), ("transformer.h.2.mlp.c_fc", "layer 2"), ("transformer.ln_f", "last norm")],
)
def test_what_stands_below_and_above_the_layers_is_named(path, stage, folders):
    folder = folders("gpt2", "GPT2LMHeadModel")
    layers = compared(
        folder, "GPT2LMHeadModel", "float32", lambda model: model.get_submodule(path).weight.mul_(1.01)
    )
    assert layers.first(ALONE) == layers.first(IN_MODEL) == stage


def test_the_true_input_of_a_layer_is_what_the_model_hands_to_it(folders):
    """Of the truth itself, alone and in the model are the same, to rounding."""
    layers = compared(folders("gpt2", "GPT2Model"), "GPT2Model", "float64")
    for figures in layers.peer.values():
        assert np.isfinite(figures[ALONE]["sigma_max"])
        assert figures[ALONE]["shape"] == figures[IN_MODEL]["shape"]
