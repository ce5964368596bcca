"""CLIP: its two encoders and its loss, against `transformers`."""


import numpy as np
import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.family_peer import call_family, family_model, names_of
from compare.peers.float64_throughout import throughout
from refimpl.blocks.contrast import contrast
from refimpl.checkpoints.families.clip.names import clip_rows
from refimpl.checkpoints.name_map import split_rows
from refimpl.models.clip.config import ClipConfig, TowerConfig
from refimpl.models.clip.image import clip_image
from refimpl.models.clip.model import clip
from refimpl.models.clip.text import clip_text, ends

TEXT = TowerConfig(d_model=6, n_head=3, n_layer=2, d_ff=7)
IMAGE = TowerConfig(d_model=8, n_head=2, n_layer=2, d_ff=5, norm_eps=1e-3)
SMALL = {"vocab_size": 13, "n_position": 7, "image_size": 6, "patch_size": 2, "n_channel": 2, "d_shared": 5}
LARGEST_ENDS = ClipConfig(TEXT, IMAGE, **SMALL)
ENDED = ClipConfig(TEXT, IMAGE, **SMALL, eos_id=4)


def _params(generator, config, prefix=""):
    shapes = {row.ours: row.our_shape for row in clip_rows(config) if row.ours.startswith(prefix)}
    drawn = normal_params(generator, {key: shape for key, shape in shapes.items() if shape})
    further = {"logit_scale": np.asarray(generator.uniform(1.0, 2.0))} if "logit_scale" in shapes else {}
    return {key.removeprefix(prefix): x for key, x in {**drawn, **further}.items()}


def draw_images(generator, config, n_batch):
    return normal(generator, n_batch, config.n_channel, config.image_size, config.image_size)


def draw_texts(generator, config, n_batch, n_seq):
    """Draw texts that end somewhere, once or twice, and the masks of what stands before their first end."""
    eos_id = config.vocab_size - 1 if config.eos_id is None else config.eos_id
    token_ids = (eos_id + generator.integers(1, config.vocab_size, (n_batch, n_seq))) % config.vocab_size
    end = generator.integers(1, n_seq - 1, (n_batch, 1))
    token_ids[np.arange(n_seq) == end] = token_ids[:, -1] = eos_id
    return token_ids, {"mask": np.arange(n_seq) <= end}


def inputs(generator, *, config, n_batch, n_seq):
    token_ids, masks = draw_texts(generator, config, n_batch, n_seq)
    return Inputs((draw_images(generator, config, n_batch), token_ids, _params(generator, config)), masks)


def image_inputs(generator, *, config, n_batch):
    return Inputs((draw_images(generator, config, n_batch), _params(generator, config, "image.")))


def text_inputs(generator, *, config, n_batch, n_seq):
    token_ids, masks = draw_texts(generator, config, n_batch, n_seq)
    return Inputs((token_ids, _params(generator, config, "text.")), masks)


def transformers_clip(images, token_ids, params, *, config, mask=None):
    with throughout(images.dtype):  # its softmax, too
        found = call_family(
            "clip", params, config, pixel_values=images, input_ids=token_ids, attention_mask=mask.long(),
            position_ids=torch.arange(token_ids.shape[1])[None], return_loss=True, further=_places(config),
        )  # fmt: skip
    return found.loss, found.logits_per_text


def _places(config):
    """Numbers of positions, which the model keeps as a buffer."""
    return {"vision_model.embeddings.position_ids": torch.arange(config.n_patch + 1)[None]}


def _tower(name, params, config, **keywords):
    """Call one encoder of the model, and the projection behind it."""
    rows = [row for row in names_of("clip", config, frozenset()) if row.ours.startswith(f"{name}.")]
    theirs = split_rows({f"{name}.{key}": x for key, x in params.items()}, rows)
    part, projection = {"image": ("vision_model", "visual_projection"), "text": ("text_model", "text_projection")}[name]
    model = getattr(family_model("clip", config), part)
    own = {key.removeprefix(f"{part}."): x for key, x in {**theirs, **_places(config)}.items() if key.startswith(part)}
    with throughout(params["projection.weight"].dtype):
        found = torch.func.functional_call(model, own, (), {**keywords, "output_hidden_states": True})
    return (*found.hidden_states, torch.nn.functional.linear(found.pooler_output, theirs[f"{projection}.weight"]))


def transformers_image(images, params, *, config):
    return _tower("image", params, config, pixel_values=images)


def transformers_text(token_ids, params, *, config, mask=None):
    places = torch.arange(token_ids.shape[1])[None]
    return _tower("text", params, config, input_ids=token_ids, attention_mask=mask.long(), position_ids=places)


STATES = ("state0", "state1", "state2", "vector")
LAST_END = rewritten(clip_text, ends=lambda token_ids, *, eos_id: ends(token_ids[:, ::-1], eos_id=eos_id))

CASES = [
    Case(
        name="clip_image",
        section="models",
        title="CLIP, the encoder of images",
        reference=clip_image,
        inputs=image_inputs,
        outputs=STATES,
        configs=(Config("small", {"config": ENDED, "n_batch": 2}, {"config": ENDED}),),
        peers={"transformers": transformers_image},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "norm before the blocks with the weights of that behind": rewritten(
                clip_image, 'scope(params, "pre_norm.")', 'scope(params, "norm.")'
            ),
            "vector from the mean": rewritten(
                clip_image, "layer_norm(states[-1][:, 0],", "layer_norm(xp.mean(states[-1], axis=1),"
            ),
            "place of the whole behind the patches": rewritten(clip_image, "[first, cut]", "[cut, first]"),
            "erf GELU": rewritten(
                clip_image, "**settings_of(config.image)", '**{**settings_of(config.image), "activation": "gelu"}'
            ),
            "eps of the other encoder": rewritten(
                clip_image, '"norm."), eps=config.image', '"norm."), eps=config.text'
            ),
            "gradient of the class not summed": rewritten(clip_image, "xp.sum(dboth[:, 0], axis=0)", "dboth[0, 0]"),
            "gradient of the last state lost": rewritten(clip_image, "add_gradients(dy[-2], dlast)", "dlast"),
        },
    ),
    Case(
        name="clip_text",
        section="models",
        title="CLIP, the encoder of texts",
        reference=clip_text,
        inputs=text_inputs,
        outputs=STATES,
        configs=(
            Config("ended", {"config": ENDED, "n_batch": 3, "n_seq": 7}, {"config": ENDED}),
            Config("largest", {"config": LARGEST_ENDS, "n_batch": 2, "n_seq": 6}, {"config": LARGEST_ENDS}),
        ),
        peers={"transformers": transformers_text},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "sees what comes": rewritten(clip_text, "mask=earlier if mask is None else earlier & ", "mask="),
            "last end instead of the first": LAST_END,
            "always the largest id": rewritten(clip_text, "eos_id=config.eos_id", "eos_id=None"),
            "last place for the end": rewritten(clip_text, "ends(token_ids, eos_id=config.eos_id)", "(n_seq - 1)"),
            "gradient of the last state lost": rewritten(clip_text, "add_gradients(dy[-2], dlast)", "dlast"),
            "gradient of the embedded texts lost": rewritten(clip_text, "add_gradients(dy[0], dembedded)", "dembedded"),
        },
    ),
    Case(
        name="clip",
        section="models",
        title="CLIP, its contrastive loss",
        reference=clip,
        inputs=inputs,
        outputs=("loss", "logits"),
        configs=(
            Config("ended", {"config": ENDED, "n_batch": 3, "n_seq": 6}, {"config": ENDED}),
            Config("largest", {"config": LARGEST_ENDS, "n_batch": 4, "n_seq": 7}, {"config": LARGEST_ENDS}, "full"),
        ),
        peers={"transformers": transformers_clip},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            name: rewritten(clip, contrast=rewritten(contrast, old, new))
            for name, old, new in (
                ("temperature not exponentiated", 'xp.exp(params["logit_scale"])', 'params["logit_scale"]'),
                ("loss of one direction only", "0.5 * (of_a + of_b)", "of_b"),
                ("vectors not of length 1", "xp.matmul(unit_b, ", "xp.matmul(b, "),
                ("images and texts exchanged", "cosines * factor", "xp.swapaxes(cosines, 0, 1) * factor"),
                ("gradient of the temperature not exponentiated", "dlogits * logits", "dlogits * cosines"),
                ("gradient of the columns not turned", "xp.swapaxes(dcolumns, 0, 1)", "dcolumns"),
                ("gradient through the length lost", "(db,) = b_pullback(", "db = ("),
            )
        },
    ),
]  # fmt: skip
