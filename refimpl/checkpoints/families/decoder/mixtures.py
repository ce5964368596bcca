"""The settings of a Mixtral or a Qwen2Moe between Hugging Face's config.json and our `DecoderConfig`."""

from refimpl.checkpoints.errors import shown
from refimpl.checkpoints.families.decoder.rotary_decoder import read_rotary_decoder, rotary_decoder_to_hf
from refimpl.checkpoints.settings_map import is_integer
from refimpl.models.decoder.config import PROJECTIONS
from refimpl.models.decoder.families import mixtral_config, qwen2_moe_config
from refimpl.models.decoder.mixture import Mixture

MIXTRAL = {"num_local_experts": 8, "num_experts_per_tok": 2}
QWEN2_MOE = {
    "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
}  # fmt: skip
STEP = "decoder_sparse_step"
FLAGS = {"norm_topk_prob": False, "qkv_bias": True}
UNUSED = 5632  # what `transformers` says of the width of dense layers where there are none


def mixtral_config_from_hf(settings):
    """Read the settings of a Hugging Face Mixtral.

    Parameters
    ----------
    settings : dict of str to object
        As for `llama_config_from_hf`.  The noise of the router is, like dropout, for training only and not read, and
        neither are the coefficients of losses.

    Returns
    -------
    DecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    own = {"num_key_value_heads": 8, "rms_norm_eps": 1e-5, **MIXTRAL}
    accepted = {"model_type": ("mixtral",), "layer_types": (None,), "attention_bias": (None, False)}
    given, ours = read_rotary_decoder(
        settings, own=own, accepted=accepted, sizes=MIXTRAL, theta=1e6, more_faults=_not_chosen
    )
    experts = {"n_expert": given["num_local_experts"], "n_chosen": given["num_experts_per_tok"]}
    return mixtral_config(**ours, **experts, window=given.get("sliding_window"))


def mixtral_config_to_hf(config, groups):
    """Write our settings as those of a Mixtral, the inverse of `mixtral_config_from_hf`.

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
    names = {"model_type": "mixtral", "classes": "Mixtral", "d_ff": feed.d_ff, "activation": feed.activation}
    return {
        **rotary_decoder_to_hf(config, groups, **names),
        "sliding_window": config.window,
        "num_local_experts": feed.n_expert,
        "num_experts_per_tok": feed.n_chosen,
    }


def qwen2_moe_config_from_hf(settings):
    """Read the settings of a Hugging Face Qwen2Moe.

    Parameters
    ----------
    settings : dict of str to object
        As for `mixtral_config_from_hf`.

    Returns
    -------
    DecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    own = {"num_key_value_heads": 16, **QWEN2_MOE, **FLAGS, STEP: 1, "mlp_only_layers": []}
    n_layer = settings.get("num_hidden_layers")
    kinds = (None, ["full_attention"] * n_layer) if is_integer(n_layer) and 0 < n_layer < 10**4 else (None,)
    accepted = {"model_type": ("qwen2_moe",), "use_sliding_window": (None, False), "layer_types": kinds}
    # Without `use_sliding_window` the window means nothing.
    given, ours = read_rotary_decoder(
        {**settings, "sliding_window": None},
        own=own, accepted=accepted, sizes=[*QWEN2_MOE, STEP], flags=FLAGS, more_faults=_not_layers,
    )  # fmt: skip
    return qwen2_moe_config(
        **ours,
        n_expert=given["num_experts"],
        n_chosen=given["num_experts_per_tok"],
        d_expert=given["moe_intermediate_size"],
        d_shared=given["shared_expert_intermediate_size"],
        softmax_over="chosen" if given["norm_topk_prob"] else "all",
        dense_layers=tuple(i for i in range(n_layer) if i in given["mlp_only_layers"] or (i + 1) % given[STEP]),
        biased=PROJECTIONS[:3] if given["qkv_bias"] else (),
    )


def qwen2_moe_config_to_hf(config, groups):
    """Write our settings as those of a Qwen2Moe, the inverse of `qwen2_moe_config_from_hf`.

    Parameters
    ----------
    config : DecoderConfig
        Our settings; one layer at least has experts.
    groups : set of str
        The parts of the model that are there beside the backbone: "head".

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    sparse = next(feed for feed in config.feeds if isinstance(feed, Mixture))
    dense = {i: feed.d_ff for i, feed in enumerate(config.feeds) if not isinstance(feed, Mixture)}
    names = {"model_type": "qwen2_moe", "classes": "Qwen2Moe", "activation": sparse.activation}
    return {
        **rotary_decoder_to_hf(config, groups, **names, d_ff=next(iter(dense.values()), UNUSED)),
        "num_experts": sparse.n_expert,
        "num_experts_per_tok": sparse.n_chosen,
        "moe_intermediate_size": sparse.d_ff,
        "shared_expert_intermediate_size": sparse.d_shared,
        "norm_topk_prob": sparse.softmax_over == "chosen",
        "qkv_bias": bool(config.biased),
        "mlp_only_layers": list(dense),
        STEP: 1,
        "use_sliding_window": False,
    }


def _not_chosen(given):
    n_expert, n_chosen = given.get("num_local_experts", given.get("num_experts")), given["num_experts_per_tok"]
    # Over the chosen, a single one has weight 1: its router does not learn.
    least = 1 if given.get("norm_topk_prob") is False else 2
    fits = least <= n_chosen <= n_expert
    expected = f"from {least} to the number of experts, {n_expert}"
    return [] if fits else [f"num_experts_per_tok must be an integer {expected}, got {n_chosen}"]


def _not_layers(given):
    layers = given["mlp_only_layers"]
    fits = isinstance(layers, list) and all(is_integer(layer) for layer in layers)
    return _not_chosen(given) + ([] if fits else [f"mlp_only_layers must be a list of layers, got {shown(layers)}"])
