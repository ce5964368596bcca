"""The settings of a GPT-NeoX between Hugging Face's config.json and our `DecoderConfig`."""

from refimpl.checkpoints.errors import raise_faults
from refimpl.checkpoints.families.decoder.rotary import rotary_from_hf, rotary_to_hf
from refimpl.checkpoints.families.decoder.rotary_decoder import TITLE
from refimpl.checkpoints.families.decoder.settings import (
    ACTIVATIONS,
    THEIR_ACTIVATIONS,
    decoder_faults,
    head_faults,
    with_defaults,
)
from refimpl.checkpoints.settings_map import not_accepted
from refimpl.models.decoder.config import PROJECTIONS
from refimpl.models.decoder.families import gpt_neox_config

SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "d_ff",
}
DEFAULTS = {
    "layer_norm_eps": 1e-5,
    "hidden_act": "gelu",
    "use_parallel_residual": True,
    "attention_bias": True,
    "tie_word_embeddings": False,
}
FLAGS = ("use_parallel_residual", "attention_bias", "tie_word_embeddings")
# What rotary settings were called before.
OLD = {"rotary_emb_base": "rope_theta", "rotary_pct": "partial_rotary_factor"}


def gpt_neox_config_from_hf(settings):
    """Read the settings of a Hugging Face GPT-NeoX.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  ``model_type`` and the sizes must be there; what else is absent or null is what it is
        in `transformers`.  Dropout rates and ids of special tokens are no part of the mathematics and not read.

    Returns
    -------
    DecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    given = with_defaults(settings, DEFAULTS)
    accepted = {"model_type": ("gpt_neox",)}
    faults = decoder_faults(settings, given, sizes=SIZES, accepted=accepted, eps="layer_norm_eps", flags=FLAGS)
    # Under their new names these are heard in `rope_parameters` only.
    renamed = {new: settings.get(old) for old, new in OLD.items()}
    rope, rope_faults = rotary_from_hf({**settings, **renamed}, share=0.25)
    faults = faults + rope_faults or _not_related(given, rope["share"])
    raise_faults(TITLE, faults)
    return gpt_neox_config(
        **{ours: given[theirs] for theirs, ours in SIZES.items()},
        d_rotary=_d_rotary(given, rope["share"]),
        activation=ACTIVATIONS[given["hidden_act"]],
        norm_eps=float(given["layer_norm_eps"]),
        theta=float(rope["theta"]),
        scaling=rope["scaling"],
        parallel=given["use_parallel_residual"],
        biased=PROJECTIONS if given["attention_bias"] else (),
        tied=given["tie_word_embeddings"],
    )


def gpt_neox_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `gpt_neox_config_from_hf`.

    Parameters
    ----------
    config : DecoderConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the backbone: "head".

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    feed = config.feeds[0]
    return {
        "architectures": ["GPTNeoXForCausalLM" if "head" in groups or config.tied else "GPTNeoXModel"],
        "model_type": "gpt_neox",
        **{theirs: getattr(feed if ours == "d_ff" else config, ours) for theirs, ours in SIZES.items()},
        "hidden_act": THEIR_ACTIVATIONS[feed.activation],
        "layer_norm_eps": config.norm.eps,
        "use_parallel_residual": config.parallel,
        "attention_bias": bool(config.biased),
        "tie_word_embeddings": config.tied,
        **rotary_to_hf(config.positions, d_head=config.d_head),
    }


def _d_rotary(given, share):
    return int(given["hidden_size"] // given["num_attention_heads"] * share)


def _not_related(given, share):
    d_rotary = _d_rotary(given, share)
    fits = d_rotary > 0 and d_rotary % 2 == 0
    faults = head_faults(given, "hidden_size", "num_attention_heads")
    d_head = given["hidden_size"] // given["num_attention_heads"]
    faults += not_accepted(given, {"head_dim": (None, d_head)})  # of the positions, not of the heads
    return faults if fits else [*faults, f"partial_rotary_factor must turn an even number of features, got {d_rotary}"]
