"""The name map between a Hugging Face CLIP and our parameters, as one table."""

from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names, positions

BLOCK = {
    "norm1": ("layer_norm1", "d_model"),
    "self_attn.out_proj": ("self_attn.out_proj", "d_model d_model"),
    "norm2": ("layer_norm2", "d_model"),
    "linear1": ("mlp.fc1", "d_ff d_model"),
    "linear2": ("mlp.fc2", "d_model d_ff"),
}


def clip_rows(config):
    """List the parameters of a CLIP and what Hugging Face calls them.

    Parameters
    ----------
    config : ClipConfig
        The sizes and settings.

    Returns
    -------
    list of Row
        One row for each of our parameters.
    """
    d_text, d_image, side = config.text.d_model, config.image.d_model, config.patch_size
    image, text = "vision_model.embeddings", "text_model.embeddings"
    return [
        Row("logit_scale", ("logit_scale",), (), "both"),
        Row("image.class", (f"{image}.class_embedding",), (d_image,), "both"),
        _one("image.patch", f"{image}.patch_embedding", (d_image, config.n_channel, side, side)),
        _one("image.position", f"{image}.position_embedding", (config.n_patch + 1, d_image)),
        *_pair("image.pre_norm", "vision_model.pre_layrnorm", (d_image,)),
        *_blocks("image", "vision_model", config.image),
        *_pair("image.norm", "vision_model.post_layernorm", (d_image,)),
        _one("image.projection", "visual_projection", (config.d_shared, d_image)),
        _one("text.token", f"{text}.token_embedding", (config.vocab_size, d_text)),
        _one("text.position", f"{text}.position_embedding", (config.n_position, d_text)),
        *_blocks("text", "text_model", config.text),
        *_pair("text.norm", "text_model.final_layer_norm", (d_text,)),
        _one("text.projection", "text_projection", (config.d_shared, d_text)),
    ]


def _blocks(ours, theirs, tower):
    rows = []
    for i in range(tower.n_layer):
        mine, other = f"{ours}.layers.{i}", f"{theirs}.encoder.layers.{i}"
        for ending, shape in (("weight", (tower.d_model, tower.d_model)), ("bias", (tower.d_model,))):
            fused = tuple(f"{other}.self_attn.{name}_proj.{ending}" for name in "qkv")
            rows.append(Row(f"{mine}.self_attn.in_proj_{ending}", fused, shape, "both"))
        for key, (name, sizes) in BLOCK.items():
            rows += _pair(f"{mine}.{key}", f"{other}.{name}", tuple(getattr(tower, size) for size in sizes.split()))
    return rows


def _one(ours, theirs, shape):
    return Row(f"{ours}.weight", (f"{theirs}.weight",), shape, "both")


def _pair(ours, theirs, shape):
    return [_one(ours, theirs, shape), Row(f"{ours}.bias", (f"{theirs}.bias",), shape[:1], "both")]


CLIP_NAMES = Names(
    rows=clip_rows,
    required=frozenset({"both"}),
    architectures={frozenset(): "CLIPModel"},
    constants={r"(text|vision)_model\.embeddings\.position_ids": positions},
)
