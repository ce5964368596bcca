"""Bloom, all hidden states and the logits, against `transformers`."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case
from compare.cases.decoder import BUGS, HEAD_BUGS, decoder_case, draw_decoder, wrong_layer
from compare.cases.gpt_neox import FUSED_BUGS
from compare.peers.transformers_decoder import call_decoder
from refimpl.arrays import array_namespace
from refimpl.models.decoder.embed import embed
from refimpl.models.decoder.families import bloom_config
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder

SMALL = {"vocab_size": 13, "d_model": 15, "n_layer": 2, "n_head": 3}
BLOOM = bloom_config(**SMALL, norm_eps=1e-2)
UNTIED = bloom_config(**{**SMALL, "n_head": 5}, tied=False)


def tokens_only(component):
    """Look at tokens only: what Bloom makes of padding that sees no token is the mean of everything."""

    def of_tokens(token_ids, params, *, config, mask=None):
        states, pullback = component(token_ids, params, config=config, mask=mask)
        blank = (lambda tree: tree) if mask is None else lambda tree: tuple(_blank(x, mask) for x in tree)
        return blank(states), lambda dy: pullback(blank(dy))

    return of_tokens


def _blank(x, mask):
    xp = array_namespace(x, mask)
    return xp.where(mask[:, :, None], x, 0.0)


def transformers_bloom(token_ids, params, *, config, mask=None):
    settings = {"config": config, "mask": mask, "headed": False, "output_hidden_states": True}
    states = call_decoder("bloom", params, token_ids, **settings).hidden_states
    return states if mask is None else tuple(torch.where(mask[:, :, None], state, 0.0) for state in states)


def transformers_bloom_lm(token_ids, params, *, config, mask=None):
    logits = call_decoder("bloom", params, token_ids, config=config, mask=mask, headed=True).logits
    return (logits if mask is None else torch.where(mask[:, :, None], logits, 0.0),)


BLOOM_BUGS = {
    **BUGS,
    **FUSED_BUGS,
    "the far is near": wrong_layer("bias_at(places, places,", "-bias_at(places, places,"),
    "no distance": wrong_layer("(q, k, v, bias,", "(q, k, v, None,"),
    "slopes of the heads reversed": wrong_layer(
        "bias_at(places, places, n_head=n_head, like=q)",
        "bias_at(places, places, n_head=n_head, like=q)[..., ::-1, :, :]",
    ),
    "gradient of the embeddings' norm forgotten": rewritten(
        decoder,
        embed=rewritten(embed, "dtokens, dnorm = norm_pullback(dy)", "dtokens, (_, dnorm) = dy, norm_pullback(dy)"),
    ),
}

CASES = [
    Case(
        name="bloom",
        section="models",
        title="Bloom",
        reference=tokens_only(decoder),
        inputs=draw_decoder,
        outputs=("state0", "state1", "state2"),
        configs=(
            decoder_case("bloom", BLOOM, padded=True, n_seq=6),
            decoder_case("five_heads", UNTIED, n_seq=5, profile="full"),
        ),
        peers={"transformers": transformers_bloom},
        dtypes=("float64", "float32"),
        bugs={name: tokens_only(bug) for name, bug in BLOOM_BUGS.items()},
    ),
    Case(
        name="bloom_lm",
        section="models",
        title="Bloom's logits",
        reference=tokens_only(decoder_lm),
        inputs=draw_decoder,
        outputs=("logits",),
        configs=(
            decoder_case("tied", BLOOM, headed=True, padded=True, n_seq=4),
            decoder_case("untied", UNTIED, headed=True, n_seq=4, profile="full"),
        ),
        peers={"transformers": transformers_bloom_lm},
        dtypes=("float64", "float32"),
        bugs={name: tokens_only(bug) for name, bug in HEAD_BUGS.items()},
    ),
]
