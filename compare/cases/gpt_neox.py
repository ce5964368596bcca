"""GPT-NeoX, all hidden states and the logits, against `transformers`."""

from compare.cases.bug import rewritten
from compare.cases.case import Case
from compare.cases.decoder import BUGS, HEAD_BUGS, ROTARY_BUGS, decoder_case, draw_decoder, wrong_attention, wrong_block
from compare.peers.transformers_decoder import call_decoder
from refimpl.models.decoder import attend
from refimpl.models.decoder.families import gpt_neox_config
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder

SMALL = {"vocab_size": 13, "d_model": 18, "n_layer": 2, "n_head": 3, "d_ff": 7}
PARALLEL = gpt_neox_config(**SMALL, d_rotary=4, norm_eps=1e-2, theta=20.0)
SEQUENTIAL = gpt_neox_config(**SMALL, d_rotary=2, parallel=False, biased=(), activation="relu", theta=40.0)
TIED = gpt_neox_config(**SMALL, d_rotary=6, activation="gelu_tanh", tied=True)


def transformers_neox(token_ids, params, *, config, mask=None):
    settings = {"config": config, "mask": mask, "headed": False, "output_hidden_states": True}
    return call_decoder("gpt_neox", params, token_ids, **settings).hidden_states


def transformers_neox_lm(token_ids, params, *, config, mask=None):
    return (call_decoder("gpt_neox", params, token_ids, config=config, mask=mask, headed=True).logits,)


def wrong_split(old, new):
    """Edit how the fused projection is cut."""
    return wrong_attention(_separate=rewritten(attend._separate, _split_qkv=rewritten(attend._split_qkv, old, new)))


FUSED_BUGS = {
    "keys and values swapped": wrong_split(
        "{key: parts[key][i] for key in fused} for i in range(len(SEPARATE))",
        "{key: parts[key][i] for key in fused} for i in (0, 2, 1)",
    ),
    "gradients of queries and keys swapped": wrong_split(
        "for prefix in SEPARATE]\n", "for prefix in (SEPARATE[1], SEPARATE[0], SEPARATE[2])]\n"
    ),
}

CASES = [
    Case(
        name="gpt_neox",
        section="models",
        title="GPT-NeoX",
        reference=decoder,
        inputs=draw_decoder,
        outputs=("state0", "state1", "state2"),
        configs=(
            decoder_case("parallel", PARALLEL, padded=True, n_seq=6),
            decoder_case("sequential", SEQUENTIAL, n_batch=2, n_seq=5),
            decoder_case("tanh", TIED, padded=True, profile="full"),
        ),
        peers={"transformers": transformers_neox},
        dtypes=("float64", "float32"),
        coarse_erf=("transformers",),
        bugs={
            **BUGS,
            **ROTARY_BUGS,
            **FUSED_BUGS,
            "one after the other": wrong_block("norm(x if parallel else mid,", "norm(mid,"),
            "side by side": wrong_block("norm(x if parallel else mid,", "norm(x,"),
            "gradient of the branch lost": wrong_block("dread if parallel else None", "None"),
            "gradient of the branch into the other": wrong_block("dsum if parallel else dsum + dread", "dsum + dread"),
        },
    ),
    Case(
        name="gpt_neox_lm",
        section="models",
        title="GPT-NeoX's logits",
        reference=decoder_lm,
        inputs=draw_decoder,
        outputs=("logits",),
        configs=(
            decoder_case("tied", TIED, headed=True, padded=True, n_seq=4),
            decoder_case("untied", PARALLEL, headed=True, n_seq=4),
        ),
        peers={"transformers": transformers_neox_lm},
        dtypes=("float64", "float32"),
        bugs=HEAD_BUGS,
    ),
]
