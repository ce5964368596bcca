"""The settings of a CLIP between Hugging Face's config.json and our `ClipConfig`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.settings_map import is_integer, not_accepted, not_choices, not_numbers, not_sizes
from refimpl.models.clip.config import ClipConfig, TowerConfig

TOWER = {
    "hidden_size": "d_model",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "intermediate_size": "d_ff",
}
TEXT = {"vocab_size": "vocab_size", "max_position_embeddings": "n_position"}
IMAGE = {"image_size": "image_size", "patch_size": "patch_size", "num_channels": "n_channel"}
LARGEST = {"num_hidden_layers": MOST_TENSORS // 32}  # a block has 16 tensors, and there are two encoders
ACTIVATIONS = conventions("clip").activations
OUR_ACTIVATIONS = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
# As in `transformers`.
DEFAULTS = {"layer_norm_eps": 1e-5, "hidden_act": "quick_gelu"}
TEXT_DEFAULTS = {
    **DEFAULTS, "vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12,
    "num_attention_heads": 8, "max_position_embeddings": 77, "eos_token_id": 49407,
}  # fmt: skip
IMAGE_DEFAULTS = {
    **DEFAULTS, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
    "num_channels": 3, "image_size": 224, "patch_size": 32,
}  # fmt: skip
LARGEST_ID = 2  # the eos_token_id of the first configurations, with which the largest id ends a text
ACCEPTED = {"model_type": ("clip",), "quantization_config": (None,)}


def clip_config_from_hf(settings):
    """Read the settings of a Hugging Face CLIP.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds, with ``text_config`` and ``vision_config``; what is not there, or null, has the defaults
        of `transformers`.  Dropout rates are no part of the mathematics and not read.

    Returns
    -------
    ClipConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key has a value that `refimpl` has no model for; every one is named.
    """
    faults = not_accepted(settings, ACCEPTED)
    given = {"projection_dim": 512, **{key: value for key, value in settings.items() if value is not None}}
    faults += not_sizes(given, ["projection_dim"])
    parts = {}
    for key, defaults in (("text_config", TEXT_DEFAULTS), ("vision_config", IMAGE_DEFAULTS)):
        said = given.get(key, {})
        if not isinstance(said, dict):
            faults.append(f"{key} must be an object, got {shown(said)}")
            said = {}
        parts[key] = {**defaults, **{name: value for name, value in said.items() if value is not None}}
    text, image = parts["text_config"], parts["vision_config"]
    faults += _not_tower("text_config", text, TEXT) + _not_tower("vision_config", image, IMAGE)
    # The relations between sizes can be judged only when every size is one.
    raise_faults("config.json does not describe a model that refimpl has", faults or _not_related(text, image))
    return ClipConfig(
        text=_tower(text),
        image=_tower(image),
        d_shared=given["projection_dim"],
        eos_id=None if text["eos_token_id"] == LARGEST_ID else text["eos_token_id"],
        **{ours: text[theirs] for theirs, ours in TEXT.items()},
        **{ours: image[theirs] for theirs, ours in IMAGE.items()},
    )


def clip_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `clip_config_from_hf`.

    Parameters
    ----------
    config : ClipConfig
        Our settings.
    groups : set of str
        Always empty: there are no parts beside the two encoders.

    Returns
    -------
    dict of str to object
        The content of a config.json.

    Raises
    ------
    CheckpointError
        If texts end with the token 2, which `transformers` does not look for.
    """
    if config.eos_id == LARGEST_ID:
        raise_faults("CLIP of Hugging Face is no such model", [f"eos_id {LARGEST_ID} means the largest id there"])
    parts = {"text_config": (config.text, TEXT), "vision_config": (config.image, IMAGE)}
    said = {
        key: {
            **{theirs: getattr(tower, ours) for theirs, ours in TOWER.items()},
            **{theirs: getattr(config, ours) for theirs, ours in further.items()},
            "layer_norm_eps": tower.norm_eps,
            "hidden_act": OUR_ACTIVATIONS[tower.activation],
            "projection_dim": config.d_shared,
        }
        for key, (tower, further) in parts.items()
    }
    said["text_config"]["eos_token_id"] = LARGEST_ID if config.eos_id is None else config.eos_id
    return {"architectures": ["CLIPModel"], "model_type": "clip", "projection_dim": config.d_shared, **said}


def _tower(part):
    return TowerConfig(
        **{ours: part[theirs] for theirs, ours in TOWER.items()},
        norm_eps=float(part["layer_norm_eps"]),
        activation=ACTIVATIONS[part["hidden_act"]],
    )


def _not_tower(key, part, further):
    faults = not_sizes(part, [*TOWER, *further], largest=LARGEST)
    faults += not_numbers(part, {"layer_norm_eps": (0, 1)}) + not_choices(part, {"hidden_act": ACTIVATIONS})
    return [f"{key}: {fault}" for fault in faults]


def _not_related(text, image):
    faults = []
    for key, part in (("text_config", text), ("vision_config", image)):
        width, heads = part["hidden_size"], part["num_attention_heads"]
        if width % heads:
            faults.append(f"{key}: hidden_size must be a multiple of num_attention_heads = {heads}, got {width}")
    if image["image_size"] % image["patch_size"]:
        size, side = image["image_size"], image["patch_size"]
        faults.append(f"vision_config: image_size must be a multiple of patch_size = {side}, got {size}")
    eos = text["eos_token_id"]
    if not is_integer(eos) or not 0 <= eos < text["vocab_size"]:
        faults.append(f"text_config: eos_token_id must be an integer below vocab_size, got {shown(eos)}")
    return faults
