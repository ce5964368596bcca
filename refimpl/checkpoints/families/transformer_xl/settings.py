"""The settings of a Transformer-XL between Hugging Face's config.json and our `TransformerXLConfig`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.settings_map import is_integer, not_accepted, not_numbers, not_sizes
from refimpl.models.transformer_xl.config import TransformerXLConfig

SIZES = {
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "d_embed": "d_embed",
    "n_head": "n_head",
    "d_head": "d_head",
    "n_layer": "n_layer",
    "d_inner": "d_ff",
    "div_val": "div_val",
}
FLAGS = {
    "pre_lnorm": ("pre_norm", False),
    "same_length": ("same_length", True),
    "untie_r": ("own_biases", True),
}
LARGEST = {"n_layer": MOST_TENSORS // 16}
# The only values that describe the model we have; None stands for an absent key.
ACCEPTED = {
    "model_type": ("transfo-xl",),
    "attn_type": (None, 0),
    "sample_softmax": (None, -1, 0),
    "tie_word_embeddings": (None, True),
    "quantization_config": (None,),
}
DEFAULTS = {"mem_len": 1600, "clamp_len": 1000, "layer_norm_epsilon": 1e-5, "cutoffs": [20000, 40000, 200000]}


def transformer_xl_config_from_hf(settings):
    """Read the settings of a Transformer-XL of Hugging Face.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` must be there; the rest has the defaults of
        `transformers`.

    Returns
    -------
    TransformerXLConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    given = {**DEFAULTS, **{theirs: default for theirs, (_, default) in FLAGS.items()}}
    given |= {key: value for key, value in settings.items() if value is not None}
    faults = not_accepted(settings, ACCEPTED) + not_sizes(settings, SIZES, largest=LARGEST)
    faults += not_numbers(given, {"layer_norm_epsilon": (0, 1)})
    faults += [f"{key} must be true or false, got {shown(given[key])}" for key in FLAGS if type(given[key]) is not bool]
    faults += [
        f"{key} must be an integer, got {shown(given[key])}"
        for key in ("mem_len", "clamp_len")
        if not is_integer(given[key])
    ]
    shared = given.get("proj_share_all_but_first", True)
    if not isinstance(shared, bool):
        faults.append(f"proj_share_all_but_first must be true or false, got {shown(shared)}")
    cutoffs, tied = given["cutoffs"], given.get("tie_projs")
    if not isinstance(cutoffs, list) or not all(is_integer(cutoff) for cutoff in cutoffs):
        faults.append(f"cutoffs must be a list of integers, got {shown(cutoffs)}")
    elif tied is not None and tied not in _tied(cutoffs):
        faults.append(f"tie_projs must be {' or '.join(map(shown, _tied(cutoffs)))}, got {shown(tied)}")
    raise_faults("config.json does not describe a model that refimpl has", faults)
    try:
        return TransformerXLConfig(
            **{ours: given[theirs] for theirs, ours in SIZES.items()},
            **{ours: given[theirs] for theirs, (ours, _) in FLAGS.items()},
            cutoffs=tuple(cutoffs),
            n_memory=max(given["mem_len"], 0),
            clamp_len=max(given["clamp_len"], 0),
            norm_eps=float(given["layer_norm_epsilon"]),
            # A saved folder keeps the list, and with it what proj_share_all_but_first said.
            tie_projections=any(tied) if tied and cutoffs else shared,
        )
    except ValueError as error:
        raise_faults("config.json does not describe a model that refimpl has", [str(error)])


def transformer_xl_config_to_hf(config, groups=frozenset({"softmax"})):
    """Write our settings as Hugging Face does, the inverse of `transformer_xl_config_from_hf`.

    Parameters
    ----------
    config : TransformerXLConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the backbone: "softmax" or none.

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    return {
        "architectures": ["TransfoXLLMHeadModel" if groups else "TransfoXLModel"],
        **{theirs: getattr(config, ours) for theirs, ours in SIZES.items()},
        **{theirs: getattr(config, ours) for theirs, (ours, _) in FLAGS.items()},
        "model_type": "transfo-xl",
        "cutoffs": list(config.cutoffs),
        "mem_len": config.n_memory,
        "clamp_len": config.clamp_len or -1,
        "layer_norm_epsilon": config.norm_eps,
        "proj_share_all_but_first": config.tie_projections,
        "tie_projs": [False, *[config.tie_projections for _ in config.cutoffs]],
        "attn_type": 0,
        "sample_softmax": -1,
        "tie_word_embeddings": True,
    }


def _tied(cutoffs):
    return [[False] + [tied] * len(cutoffs) for tied in (True, False)]
