"""Change one setting of config.json alone: it is refused by name, or the model still equals that of `transformers`.

A setting that we pass over and `transformers` hears would load as another model, without a word.
"""

import copy
import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from compare.folder.ours import KINDS, run_ours
from compare.folder.theirs import compute_constants
from compare.peers.float64_throughout import Float64Throughout
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.ledger import conventions
from tests.checkpoints.tiny import ELSEWHERE, tiny_config

HERE = [name for name in FAMILIES if name not in ELSEWHERE]
N_CHANGE = 10  # of each family
GONE = object()
NAMES = ("relu", "gelu", "silu", "tanh", "gelu_new", "quick_gelu", "gated-silu")
# What a family may not say today, but once did, or other families do.
FURTHER = {
    "is_decoder": False, "tie_word_embeddings": True, "rope_theta": 100.0, "rope_scaling": None, "head_dim": None,
    "sliding_window": None, "position_embedding_type": "absolute", "scale_embedding": False, "attention_bias": False,
    "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 3, "layer_types": None, "rotary_pct": 0.5,
    "partial_rotary_factor": 0.5, "original_max_position_embeddings": None, "per_layer_config": None,
}  # fmt: skip
CLASSES = {name: conventions(name).class_name for name in HERE} | {"longformer": "LongformerModel"}
FILES = ("mixtral", "qwen2_moe", "gpt_neox")  # the names in the file are not those in memory
pytestmark = pytest.mark.filterwarnings("ignore:.*rope_scaling.*is deprecated:FutureWarning")
LARGEST, N_SEQ = 10**6, 9


def settings_of(name):
    return json.loads(tiny_config(name).to_json_string(use_diff=False))


def paths(settings, above=()):
    for key, value in settings.items():
        yield (*above, key), value
        if isinstance(value, dict) and key not in ("id2label", "label2id"):
            yield from paths(value, (*above, key))


def others(value):
    if isinstance(value, bool):
        return [not value, None, GONE]
    if isinstance(value, int | float):
        return [None, GONE, 0, 1, -value, 2 * value, value + 1, 0.5, str(value), [value]]
    if isinstance(value, str):
        return [None, GONE, "", *NAMES]
    return [GONE, True, 1, 2, 4, 0.5, "relu", [1], {"0": {"intermediate_size": 4}}]


def changed(settings, path, value):
    settings = copy.deepcopy(settings)
    inner = settings
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    if value is GONE:
        del inner[path[-1]]
    return settings


def inputs_of(name):
    rng = np.random.default_rng(0)
    kind, ids = KINDS[name], rng.integers(2 if name == "longformer" else 0, 20, (2, N_SEQ))
    images = {"images": rng.normal(size=(2, 3, 6, 6))} if kind == "clip" else {}
    return {"token_ids": ids, **images, **({"target_ids": ids[:, :7]} if kind in ("encoder_decoder", "t5") else {})}


def theirs(name, settings, ids):
    """Build a random model of `transformers`, and run it in float64; None where it refuses, too."""
    words = {"token_ids": "input_ids", "target_ids": "decoder_input_ids", "images": "pixel_values"}
    kind = transformers.models.auto.configuration_auto.CONFIG_MAPPING[name]
    try:
        with Float64Throughout(), torch.no_grad():
            config = kind.from_dict(copy.deepcopy(settings))
            config._attn_implementation = "eager"
            config._experts_implementation = "eager"
            model = getattr(transformers, CLASSES[name])(config).double().eval()
            torch.manual_seed(1)
            for parameter in filter(lambda parameter: parameter.requires_grad, model.parameters()):
                parameter.normal_(std=0.5)
            compute_constants(model, "float64")
            keywords = {words[key]: torch.tensor(x) for key, x in ids.items()}
            uncached = {"use_cache": False} if hasattr(config, "use_cache") else {}
            return model, model(**keywords, **uncached, return_dict=True)
    except Exception:  # whatever it raises, it has no such model
        return None, None


def tensors_of(name, model):
    if name not in FILES:
        return {key: x.numpy() for key, x in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return dict(read_safetensors(Path(folder) / "model.safetensors"))


def ours(name, config, tensors, ids):
    names = FAMILIES[name].names
    params = names.from_hf(tensors, config)
    groups, _ = names.architecture(params, config, [CLASSES[name]])
    groups = frozenset({"head"}) if KINDS[name] == "t5" else groups
    stages = run_ours(name, ids, params, config, groups=groups).stages
    named = [stages[key] for key in ("logits", "logits of texts for images") if key in stages]
    return named[-1] if named else [x for stage, x in stages.items() if stage != "pooler"][-1]


def compared(name, settings, key):
    """Say what became of it: "refused", "equal" or "no model"; anything else is an error."""
    try:
        config = FAMILIES[name].config_from_hf(settings)
    except CheckpointError:
        return "refused"
    ids = inputs_of(name)
    model, told = theirs(name, settings, ids)
    if model is None:
        return "no model"
    given = [told[key] for key in ("logits", "prediction_logits", "logits_per_text") if key in told]
    want = (given[0] if given else told["last_hidden_state"]).numpy()
    got = ours(name, config, tensors_of(name, model), ids)
    assert got.shape == want.shape
    # Dynamic positions are scaled by a float32 in `transformers`.
    assert np.abs(got - want).max() <= 2.0**-26 * max(1.0, np.abs(want).max()), (name, key, settings)
    return "equal"


def changes(name, n, seed=0):
    settings = settings_of(name)
    known = [(path, value) for path, before in paths(FURTHER | settings) for value in others(before)]
    drawn = random.Random(seed).sample([(path, value) for path, value in known if fits(path[-1], value)], n)
    return [(path, changed(settings, path, value)) for path, value in drawn]


def fits(key, value):
    """Leave out what needs memory, and positions too few for the texts."""
    fewest = N_SEQ if "position" in key else -LARGEST
    return not isinstance(value, int | float) or fewest <= value < LARGEST


@pytest.mark.parametrize("name", HERE)
def test_a_setting_is_heard_or_refused(name):
    assert compared(name, settings_of(name), "nothing") == "equal"
    for path, settings in changes(name, N_CHANGE):
        compared(name, settings, path)


def test_a_setting_that_is_passed_over_is_noticed(monkeypatch):
    """GPT-2 without its second keys: the heads are counted under another name, and nobody looks."""
    name, read = "gpt2", FAMILIES["gpt2"].config_from_hf
    settings = settings_of(name) | {"num_attention_heads": 4}
    assert compared(name, settings, "num_attention_heads") == "refused"

    def deaf(settings):
        return read({key: value for key, value in settings.items() if key != "num_attention_heads"})

    monkeypatch.setitem(FAMILIES, name, replace(FAMILIES[name], config_from_hf=deaf))
    with pytest.raises(AssertionError, match="num_attention_heads"):
        compared(name, settings, "num_attention_heads")
