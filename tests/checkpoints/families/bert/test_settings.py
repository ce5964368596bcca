import itertools

import pytest
from transformers import BertConfig as HfConfig

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.bert.settings import ACCEPTED, SIZES, bert_config_from_hf, bert_config_to_hf
from refimpl.models.bert.config import ACTIVATIONS, BertConfig

SETTINGS = {
    "model_type": "bert",
    "vocab_size": 31,
    "max_position_embeddings": 11,
    "type_vocab_size": 3,
    "hidden_size": 12,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 20,
}
OURS = BertConfig(vocab_size=31, n_position=11, n_segment=3, d_model=12, n_head=4, n_layer=2, d_ff=20)


def test_the_sizes_alone_take_the_defaults_of_transformers():
    assert bert_config_from_hf(SETTINGS) == OURS
    defaults = HfConfig()
    assert (OURS.norm_eps, OURS.activation) == (defaults.layer_norm_eps, defaults.hidden_act)
    assert (OURS.n_label, OURS.pad_id) == (defaults.num_labels, defaults.pad_token_id)


def test_what_transformers_writes_is_read():
    theirs = HfConfig(**SETTINGS, hidden_act="gelu_new", layer_norm_eps=1e-5, num_labels=5, pad_token_id=7)
    ours = bert_config_from_hf(theirs.to_dict())
    assert (ours.activation, ours.norm_eps, ours.n_label, ours.pad_id) == ("gelu_tanh", 1e-5, 5, 7)
    assert all(getattr(ours, our) == SETTINGS[their] for their, our in SIZES.items())


@pytest.mark.parametrize(("activation", "n_label"), list(itertools.product(ACTIVATIONS, [1, 2, 7])))
def test_there_and_back(activation, n_label):
    config = BertConfig(31, 11, 3, 12, 4, 2, 20, 1e-5, activation, n_label, pad_id=30)
    settings = bert_config_to_hf(config, {"pooler"})
    assert bert_config_from_hf(settings) == config
    theirs = HfConfig(**settings)
    assert (theirs.num_labels, theirs.layer_norm_eps, theirs.pad_token_id) == (n_label, 1e-5, 30)


def test_null_is_as_absent_where_there_is_a_default():
    nulls = dict.fromkeys(["layer_norm_eps", "hidden_act", "pad_token_id", "id2label", "num_labels"])
    assert bert_config_from_hf({**SETTINGS, **nulls, "is_decoder": None}) == OURS


BAD = {
    "another model": ({"model_type": "roberta"}, "model_type must be 'bert', got 'roberta'"),
    "relative positions": (
        {"position_embedding_type": "relative_key"},
        "position_embedding_type must be absent or 'absolute', got 'relative_key'",
    ),
    "decoder": ({"is_decoder": True}, "is_decoder must be absent or False, got True"),
    "cross attention": ({"add_cross_attention": True}, "cross_attention must be absent or False, got True"),
    "untied": ({"tie_word_embeddings": False}, "tie_word_embeddings must be absent or True, got False"),
    "pruned": ({"pruned_heads": {"0": [1]}}, "pruned_heads must be absent or {}, got {'0': [1]}"),
    "quantised": ({"quantization_config": {"b": 8}}, "quantization_config must be absent, got {'b': 8}"),
    "activation": (
        {"hidden_act": "swish"},
        "hidden_act must be one of gelu, gelu_python, gelu_new, gelu_pytorch_tanh, relu, got 'swish'",
    ),
    "activation is a list": ({"hidden_act": ["gelu"]}, "gelu_pytorch_tanh, relu, got ['gelu']"),
    "size is float": ({"hidden_size": 12.0}, "hidden_size must be an integer from 1 to 2147483647, got 12.0"),
    "size is text": ({"hidden_size": "12"}, "hidden_size must be an integer from 1 to 2147483647, got '12'"),
    "size is true": ({"vocab_size": True}, "vocab_size must be an integer from 1 to 2147483647, got True"),
    "size is null": ({"vocab_size": None}, "vocab_size must be an integer from 1 to 2147483647, got None"),
    "no layers": ({"num_hidden_layers": 0}, "num_hidden_layers must be an integer from 1 to 6250, got 0"),
    "layers without end": (
        {"num_hidden_layers": 10**9},
        "num_hidden_layers must be an integer from 1 to 6250, got 1000000000",
    ),
    "heads": ({"num_attention_heads": 5}, "must be a multiple of num_attention_heads = 5, got 12"),
    "eps 0": ({"layer_norm_eps": 0}, "layer_norm_eps must be a number between 0 and 1, got 0"),
    "eps is text": ({"layer_norm_eps": "1"}, "layer_norm_eps must be a number between 0 and 1, got '1'"),
    "pad beyond": ({"pad_token_id": 31}, "pad_token_id must be below vocab_size, got 31"),
    "pad negative": ({"pad_token_id": -1}, "pad_token_id must be below vocab_size, got -1"),
    "pad is text": ({"pad_token_id": "0"}, "pad_token_id must be an integer, got '0'"),
    "no labels": ({"id2label": {}}, "id2label must be an object of labels, got {}"),
    "labels are a list": ({"id2label": ["a"]}, "id2label must be an object of labels, got ['a']"),
    "label count": ({"num_labels": 0}, "num_labels must be an integer from 1 to 2147483647, got 0"),
    "labels disagree": (
        {"num_labels": 3, "id2label": {"0": "a"}},
        "num_labels must be the number of labels in id2label, 1, got 3",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_settings_that_are_refused(fault):
    change, sentence = BAD[fault]
    with pytest.raises(CheckpointError) as caught:
        bert_config_from_hf({**SETTINGS, **change})
    [headline, line] = str(caught.value).splitlines()
    assert headline == "config.json does not describe a model that refimpl has:"
    assert sentence in line


@pytest.mark.parametrize("key", [*SIZES, "model_type"])
def test_a_missing_key_is_named(key):
    settings = {name: value for name, value in SETTINGS.items() if name != key}
    sentence = "model_type must be 'bert', got nothing" if key == "model_type" else f"{key} is missing"
    with pytest.raises(CheckpointError, match=sentence):
        bert_config_from_hf(settings)


def test_all_faults_come_in_one_error():
    with pytest.raises(CheckpointError) as caught:
        bert_config_from_hf({"hidden_act": "swish", "is_decoder": True})
    assert len(str(caught.value).splitlines()) == 1 + 1 + 1 + len(SIZES) + 1


def test_every_required_value_is_what_transformers_writes():
    theirs = HfConfig().to_dict()
    assert all(theirs.get(key) in values for key, values in ACCEPTED.items())
