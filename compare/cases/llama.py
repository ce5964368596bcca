"""Llama and Mistral, all hidden states and the logits, against `transformers`."""

from compare.cases.case import Case
from compare.cases.decoder import (
    BUGS,
    GROUPED_BUGS,
    HEAD_BUGS,
    ROTARY_BUGS,
    SEQUENTIAL_BUGS,
    WINDOW_BUGS,
    decoder_case,
    draw_decoder,
)
from compare.peers.transformers_decoder import call_decoder
from refimpl.models.decoder.config import PROJECTIONS
from refimpl.models.decoder.families import llama_config
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from refimpl.positions.rotary_scaling import DynamicNtkScaling, LinearScaling, Llama3Scaling, YarnScaling

SMALL = {"vocab_size": 13, "d_model": 12, "n_layer": 2, "n_head": 4, "n_kv_head": 2, "d_head": 6, "d_ff": 7}
LLAMA = llama_config(
    **SMALL, norm_eps=1e-2, theta=30.0, scaling=Llama3Scaling(8.0, 6), biased=PROJECTIONS, feed_bias=True, tied=True
)
MISTRAL = llama_config(**{**SMALL, "n_kv_head": 1, "d_head": 2}, activation="gelu_tanh", window=3)
LINEAR, DYNAMIC, YARN = (
    llama_config(**{**SMALL, "n_kv_head": 4, "d_head": 4}, theta=100.0, scaling=scaling, activation="relu")
    for scaling in (LinearScaling(2.5), DynamicNtkScaling(2.0, 5), YarnScaling(4.0, 8, 8.0, 0.5))
)
MIDDLE = llama_config(vocab_size=1000, d_model=256, n_layer=2, n_head=8, n_kv_head=2, d_ff=704)


def model_type(config):
    return "llama" if config.window is None else "mistral"


def transformers_llama(token_ids, params, *, config, mask=None):
    settings = {"config": config, "mask": mask, "headed": False, "output_hidden_states": True}
    return call_decoder(model_type(config), params, token_ids, **settings).hidden_states


def transformers_llama_lm(token_ids, params, *, config, mask=None):
    return (call_decoder(model_type(config), params, token_ids, config=config, mask=mask, headed=True).logits,)


CASES = [
    Case(
        name="llama",
        section="models",
        title="Llama and Mistral",
        reference=decoder,
        inputs=draw_decoder,
        outputs=("state0", "state1", "state2"),
        configs=(
            decoder_case("llama", LLAMA, padded=True),
            decoder_case("mistral", MISTRAL, n_batch=2, n_seq=5),
            decoder_case("linear", LINEAR, profile="full"),
            decoder_case("dynamic", DYNAMIC, n_seq=8, profile="full"),
            decoder_case("yarn", YARN, padded=True, profile="full"),
            decoder_case("mistral_padded", MISTRAL, padded=True, profile="full"),
            decoder_case("wide", MIDDLE, n_batch=2, n_seq=64, profile="full", measured=True),
        ),
        peers={"transformers": transformers_llama},
        dtypes=("float64", "float32"),
        bugs={**BUGS, **ROTARY_BUGS, **SEQUENTIAL_BUGS, **WINDOW_BUGS, **GROUPED_BUGS},
    ),
    Case(
        name="llama_lm",
        section="models",
        title="Llama's logits",
        reference=decoder_lm,
        inputs=draw_decoder,
        outputs=("logits",),
        configs=(
            decoder_case("tied", LLAMA, headed=True, padded=True),
            decoder_case("untied", MISTRAL, headed=True, n_seq=4, profile="full"),
        ),
        peers={"transformers": transformers_llama_lm},
        dtypes=("float64", "float32"),
        bugs=HEAD_BUGS,
    ),
]
