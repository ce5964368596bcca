"""The name maps between the GPTs of Hugging Face and our parameters, as tables."""

import numpy as np

from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names, positions

# group, our key, their name, the shape of theirs by GptConfig fields
TABLES = {
    "gpt2": [
        ("backbone", "token.weight", "wte.weight", "vocab_size d_model"),
        ("backbone", "position.weight", "wpe.weight", "n_position d_model"),
        ("backbone", "norm.weight", "ln_f.weight", "d_model"),
        ("backbone", "norm.bias", "ln_f.bias", "d_model"),
    ],
    "openai-gpt": [
        ("backbone", "token.weight", "tokens_embed.weight", "vocab_size d_model"),
        ("backbone", "position.weight", "positions_embed.weight", "n_position d_model"),
    ],
}
HEAD_TABLE = [
    ("head", "head.weight", "lm_head.weight", "vocab_size d_model"),
    ("classifier", "classifier.weight", "score.weight", "n_label d_model"),
]

# The same for one block: ours under layers.{i}, theirs under h.{i}; Conv1D keeps its weights as (d_in, d_out)
LAYER_TABLE = [
    ("norm1.weight", "ln_1.weight", "d_model"),
    ("norm1.bias", "ln_1.bias", "d_model"),
    ("self_attn.in_proj_weight", "attn.c_attn.weight", "d_model d_qkv"),
    ("self_attn.in_proj_bias", "attn.c_attn.bias", "d_qkv"),
    ("self_attn.out_proj.weight", "attn.c_proj.weight", "d_model d_model"),
    ("self_attn.out_proj.bias", "attn.c_proj.bias", "d_model"),
    ("norm2.weight", "ln_2.weight", "d_model"),
    ("norm2.bias", "ln_2.bias", "d_model"),
    ("linear1.weight", "mlp.c_fc.weight", "d_model d_ff"),
    ("linear1.bias", "mlp.c_fc.bias", "d_ff"),
    ("linear2.weight", "mlp.c_proj.weight", "d_ff d_model"),
    ("linear2.bias", "mlp.c_proj.bias", "d_model"),
]

HEAD_NAMES = ("lm_head.", "score.")
CLASSES = {
    "gpt2": ("GPT2Model", "GPT2LMHeadModel", "GPT2ForSequenceClassification"),
    "openai-gpt": ("OpenAIGPTModel", "OpenAIGPTLMHeadModel", "OpenAIGPTForSequenceClassification"),
}
GROUPS = (frozenset(), frozenset({"head"}), frozenset({"classifier"}))


def gpt_model_type(config):
    """Tell which model of `transformers` has these settings.

    Parameters
    ----------
    config : refimpl.models.gpt.config.GptConfig
        The settings.

    Returns
    -------
    {"gpt2", "openai-gpt"}
        Its ``model_type``.
    """
    return "gpt2" if config.norm_first else "openai-gpt"


def gpt_rows(config):
    """Fill the table with the sizes of a model.

    Parameters
    ----------
    config : refimpl.models.gpt.config.GptConfig
        The sizes.

    Returns
    -------
    list of Row
        One row for each of our parameters, those of every head included; a head that is tied has none.
    """
    lines = TABLES[gpt_model_type(config)] + HEAD_TABLE + [
        ("backbone", f"layers.{i}.{ours}", f"h.{i}.{theirs}", sizes)
        for i in range(config.n_layer)
        for ours, theirs, sizes in LAYER_TABLE
    ]  # fmt: skip
    turned = conventions(gpt_model_type(config)).weights == "in, out"
    return [
        Row(ours, (theirs,), _shape(config, sizes), group, transposed=turned and _is_linear(theirs))
        for group, ours, theirs, sizes in lines
        if not (config.tied and group == "head")
    ]


def causal_buffer(shape):
    """Make the causal mask that older versions saved beside the weights of every block.

    Parameters
    ----------
    shape : tuple of int
        Its shape, (1, 1, n_position, n_position).

    Returns
    -------
    numpy.ndarray, shape `shape`
        1 where a query attends, else 0.
    """
    return np.tril(np.ones(shape)) if len(shape) > 1 else np.ones(shape)


def masking_number(shape):
    """Make the number that older versions put in place of masked scores.

    Parameters
    ----------
    shape : tuple of int
        Its shape, ().

    Returns
    -------
    numpy.ndarray, shape `shape`
        −10⁴.
    """
    return np.full(shape, -1e4)


def _is_linear(name):
    return ".c_" in name and name.endswith("weight")


def _shape(config, sizes):
    return tuple(3 * config.d_model if size == "d_qkv" else getattr(config, size) for size in sizes.split())


def _tied(config):
    return conventions(gpt_model_type(config)).tied_names if config.tied else {}


GPT_NAMES = {
    model_type: Names(
        rows=gpt_rows,
        required=frozenset({"backbone"}),
        architectures=dict(zip(GROUPS, classes, strict=True)),
        prefix=conventions(model_type).prefix,
        unprefixed=HEAD_NAMES,
        tied=_tied,
        constants={
            r"h\.\d+\.attn\.bias": causal_buffer,
            r"h\.\d+\.attn\.masked_bias": masking_number,
            r"position_ids": positions,
        },
    )
    for model_type, classes in CLASSES.items()
}
