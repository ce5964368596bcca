"""Every family, from `transformers` to a folder, to us, to a folder, and back: the same bits, and equal logits."""

import json

import numpy as np
import pytest
import torch

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors
from refimpl.checkpoints.folder import load_folder, save_folder
from tests.checkpoints.tiny import ELSEWHERE, tiny_config, tiny_model

CLASSES = [
    (name, class_name)
    for name, family in FAMILIES.items()
    if name not in ELSEWHERE
    for class_name in sorted({*family.names.architectures.values()})
]
IDS = [f"{name}-{class_name}" for name, class_name in CLASSES]


def small_model(name, class_name):
    # To sort a batch of texts by their last tokens, a GPT must know what is none.
    padded = {"pad_token_id": 0} if class_name.endswith("ForSequenceClassification") else {}
    return tiny_model(class_name, tiny_config(name, **padded))


def inputs_of(model):
    """Make inputs of which the last two tokens of one row are padding."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(3, 31, (2, 8), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids[:, :5]
    if hasattr(model.config, "vision_config"):
        inputs["pixel_values"] = torch.randn(2, 3, 6, 6, generator=generator, dtype=torch.float32).to(model.dtype)
    return inputs


def outputs_of(model):
    # Loaded weights lie where the file has them: at another place the same numbers may meet another kernel.
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()
    with torch.no_grad():
        found = model(**inputs_of(model), output_hidden_states=True)
    # The numbers of tokens that reached each expert are no outputs of the text.
    return {key: value for key, value in found.items() if isinstance(value, torch.Tensor)}


def weights_of(folder):
    return {name: x for file in sorted(folder.glob("*.safetensors")) for name, x in read_safetensors(file).items()}


def same_bits(left, right):
    return left.keys() == right.keys() and all(
        (left[key].dtype, left[key].shape, left[key].tobytes())
        == (right[key].dtype, right[key].shape, right[key].tobytes())
        for key in left
    )


@pytest.mark.parametrize(("name", "class_name"), CLASSES, ids=IDS)
@pytest.mark.parametrize(("dtype", "max_shard_bytes"), [("float32", 10**9), ("bfloat16", 2000)])
def test_there_and_back(name, class_name, dtype, max_shard_bytes, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    model = small_model(name, class_name).to(getattr(torch, dtype))
    model.save_pretrained(theirs, max_shard_size=max_shard_bytes)

    checkpoint = load_folder(theirs)
    assert checkpoint.model_type == name
    assert all(str(x.dtype) == dtype for x in checkpoint.params.values())
    save_folder(ours, checkpoint, max_shard_bytes=max_shard_bytes)
    assert same_bits(weights_of(ours), weights_of(theirs))
    assert json.loads((ours / "config.json").read_text()) == json.loads((theirs / "config.json").read_text())

    loaded, told = type(model).from_pretrained(ours, output_loading_info=True)
    assert not any(told.values()), told
    before, after = outputs_of(type(model).from_pretrained(theirs).eval()), outputs_of(loaded.eval())
    assert before and all(torch.equal(before[key], after[key]) for key in before)
    again = load_folder(ours)
    assert again.config == checkpoint.config
    assert same_bits(again.params, checkpoint.params)


@pytest.mark.parametrize(("name", "class_name"), CLASSES, ids=IDS)
def test_our_settings_alone_describe_the_same_model(name, class_name, tmp_path):
    """Write config.json from our configuration only, as for a model that was made here."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    model = small_model(name, class_name)
    model.save_pretrained(theirs)
    checkpoint = load_folder(theirs)
    save_folder(ours, type(checkpoint)(name, checkpoint.params, checkpoint.config))
    assert load_folder(ours).config == checkpoint.config
    loaded, told = type(model).from_pretrained(ours, output_loading_info=True)
    assert not any(told.values()), told
    # A tied head has no weights of its own: what has none is written as a model that has the head.
    assert loaded.config.architectures == [class_name] or "head" in FAMILIES[name].names.architecture(
        checkpoint.params, checkpoint.config
    )[0]
    before, after = outputs_of(model), outputs_of(loaded.eval())
    # The GELU may be another kernel of the same function, and so differ in rounding.
    for key in before:
        assert float((before[key] - after[key]).abs().max()) <= 2.0**-12 * float(before[key].abs().max()), key


@pytest.mark.parametrize(("name", "class_name"), CLASSES, ids=IDS)
def test_every_fault_is_reported_by_name(name, class_name, tmp_path):
    tiny_model(class_name, tiny_config(name)).save_pretrained(tmp_path)
    tensors = read_safetensors(tmp_path / "model.safetensors")
    matrices = [key for key, x in tensors.items() if x.ndim == 2 and x.shape[0] != x.shape[1]]
    vectors = [key for key, x in tensors.items() if x.ndim == 1]
    gone, longer, turned = vectors[0], vectors[1], matrices[-1]
    spoiled = {key: x for key, x in tensors.items() if key != gone} | {
        longer: np.zeros(tensors[longer].size + 1, np.float32), turned: tensors[turned].T, "stray": np.zeros(1),
    }  # fmt: skip
    write_safetensors(tmp_path / "model.safetensors", spoiled)
    with pytest.raises(CheckpointError) as caught:
        load_folder(tmp_path)
    lines = {line.strip() for line in str(caught.value).splitlines()[1:]}
    shape = tensors[turned].shape
    assert f"missing {gone} of shape {tensors[gone].shape}" in lines
    assert "unexpected 'stray'" in lines
    assert f"{turned} must have shape {shape}, got {shape[::-1]}, probably transposed" in lines
    assert any(line.startswith(f"{longer} must have shape {tensors[longer].shape}, got ") for line in lines)
    assert len(lines) == 4


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ELSEWHERE])
def test_several_tokens_may_end_a_text(name, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    class_name = next(class_name for family, class_name in CLASSES if family == name)
    tiny_model(class_name, tiny_config(name, eos_token_id=[2, 5])).save_pretrained(theirs)
    settings = json.loads((theirs / "config.json").read_text())
    assert settings["eos_token_id"] == [2, 5]
    save_folder(ours, load_folder(theirs))
    assert json.loads((ours / "config.json").read_text()) == settings


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ELSEWHERE])
def test_a_setting_that_is_not_supported_is_refused_by_key_and_value(name, tmp_path):
    model = tiny_model(next(class_name for family, class_name in CLASSES if family == name), tiny_config(name))
    model.save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"quantization_config": {"bits": 4}}))
    with pytest.raises(CheckpointError, match=r"quantization_config must be absent, got \{'bits': 4\}"):
        load_folder(tmp_path)
