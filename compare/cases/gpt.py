"""GPT-1 and GPT-2, all their hidden states, against `transformers`."""

import numpy as np

from compare.cases.bert import overwritten
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal_params
from compare.peers.transformers_gpt import call_gpt
from refimpl.attention.mask import causal_mask
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.checkpoints.families.gpt.names import gpt_rows
from refimpl.layers.embedding import embedding
from refimpl.models.gpt import model
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.model import gpt, gpt_embeddings

GPT2 = GptConfig(
    vocab_size=17, n_position=9, d_model=12, n_head=3, n_layer=2, d_ff=10, norm_eps=1e-3, n_label=4, pad_id=2
)
ERF = GptConfig(
    vocab_size=13, n_position=6, d_model=10, n_head=2, n_layer=2, d_ff=7, activation="gelu", tied=False, pad_id=0
)
GPT1 = GptConfig(
    vocab_size=19, n_position=7, d_model=6, n_head=2, n_layer=2, d_ff=24, norm_first=False, norm_eps=1e-3, n_label=3,
    pad_id=1
)
MIDDLE = GptConfig(vocab_size=1000, n_position=128, d_model=256, n_head=4, n_layer=2, d_ff=1024)


def gpt_params(generator, config, *groups):
    """Draw the parameters of some groups of the name map, such as "backbone" and "head"."""
    return normal_params(generator, {row.ours: row.our_shape for row in gpt_rows(config) if row.group in groups})


def draw_text(generator, config, n_batch, n_seq, padded=None):
    """Draw tokens, none of them padding, and where texts are padded their mask: of every length, the first in full."""
    pad = 0 if config.pad_id is None else config.pad_id
    token_ids = (generator.integers(1, config.vocab_size, (n_batch, n_seq)) + pad) % config.vocab_size
    if padded is None:
        return token_ids, {}
    lengths = n_seq - np.arange(n_batch) % n_seq
    mask = np.arange(n_seq) < lengths[:, None]
    mask = mask[:, ::-1].copy() if padded == "left" else mask
    return np.where(mask, token_ids, pad), {"mask": mask}


def inputs_of(*groups):
    """Draw the inputs of a model with these groups of parameters."""

    def inputs(generator, *, config, n_batch, n_seq, padded=None, placed=False):
        token_ids, masks = draw_text(generator, config, n_batch, n_seq, padded)
        places = {"position_ids": generator.integers(0, config.n_position, token_ids.shape)} if placed else {}
        return Inputs((token_ids, gpt_params(generator, config, *groups)), {**masks, **places})

    return inputs


def transformers_states(token_ids, params, *, config, mask=None, position_ids=None):
    found = call_gpt(
        token_ids, params, config=config, mask=mask, position_ids=position_ids, output_hidden_states=True
    )
    return found.hidden_states


def configs(config, *paddings, wide):
    """Fill the input domain of a GPT: texts in full, padded, with positions of their own, and worth measuring."""
    sizes, settings = {"config": config, "n_seq": config.n_position - 2}, {"config": config}
    return (
        Config("whole", {**sizes, "n_batch": 2}, settings),
        *(Config(f"padded_{side}", {**sizes, "n_batch": 3, "padded": side}, settings) for side in paddings),
        Config("placed", {**sizes, "n_batch": 2, "placed": True}, settings, profile="full"),
        *wide,
    )


def edited_mask(old, new):
    return rewritten(gpt, _blocks=rewritten(model._blocks, causal_mask=rewritten(causal_mask, old, new)))


GPT_BUGS = {
    "mask ignored": rewritten(gpt, "_blocks(config, token_ids, mask)", "_blocks(config, token_ids, None)"),
    "causal mask off by one": edited_mask("+ n_before", "+ n_before + 1"),
    "a token does not see itself": edited_mask("[None, :] <= xp", "[None, :] < xp"),
    "positions of padding counted": rewritten(gpt, "text_positions(token_ids, mask=mask)", "text_positions(token_ids)"),
    "eps of the checkpoint ignored": rewritten(gpt, "eps=config.norm_eps", "eps=1e-5"),
    "tanh GELU for erf GELU": rewritten(gpt, "activation=config.activation", 'activation="gelu"'),
    "one head": rewritten(gpt, "n_head=config.n_head", "n_head=1"),
    "gradient of the embedded state lost": rewritten(gpt, "add_gradients(dembedded_here, dembedded)", "dembedded"),
    "gradient of repeated tokens not added": rewritten(
        gpt,
        gpt_embeddings=rewritten(gpt_embeddings, embedding=rewritten(embedding, scatter_add=overwritten)),
    ),
    "gradient of the positions of the first text for all": rewritten(
        gpt,
        gpt_embeddings=rewritten(
            gpt_embeddings, "= position_pullback(dy)", "= position_pullback(0.0 * dy + dy[:1])"
        ),
    ),
}
OUTPUTS = tuple(f"state{i}" for i in range(GPT2.n_layer + 1))

CASES = [
    Case(
        name="gpt2",
        section="models",
        title="GPT-2",
        reference=gpt,
        inputs=inputs_of("backbone"),
        outputs=OUTPUTS,
        configs=configs(
            GPT2, "left", "right",
            wide=[Config("wide", {"config": MIDDLE, "n_batch": 2, "n_seq": 64}, {"config": MIDDLE}, measured=True)],
        ),
        peers={"transformers": transformers_states},
        dtypes=("float64", "float32"),
        bugs={
            **GPT_BUGS,
            "norm after the residual sum": rewritten(
                gpt, _blocks=rewritten(model._blocks, pre_norm_block=post_norm_block)
            ),
        },
    ),
    Case(
        name="gpt1",
        section="models",
        title="GPT-1",
        reference=gpt,
        inputs=inputs_of("backbone"),
        outputs=OUTPUTS,
        # In theirs padding on the left attends to everything, where it attends to nothing here: no state to compare.
        configs=configs(GPT1, "right", wide=[]),
        peers={"transformers": transformers_states},
        dtypes=("float64", "float32"),
        bugs={
            **GPT_BUGS,
            "norm before the sub-layers": rewritten(
                gpt, _blocks=rewritten(model._blocks, post_norm_block=pre_norm_block)
            ),
        },
    ),
]
