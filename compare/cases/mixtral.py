"""Mixtral and Qwen2Moe, all hidden states and the logits of the routers, against `transformers`."""

from compare.cases.bug import rewritten
from compare.cases.case import Case
from compare.cases.decoder import BUGS, ROTARY_BUGS, decoder_case, draw_decoder, wrong_block
from compare.peers.transformers_decoder import call_decoder
from refimpl.models.decoder.families import mixtral_config, qwen2_moe_config
from refimpl.models.decoder.model import decoder

SMALL = {"vocab_size": 11, "d_model": 12, "n_layer": 2, "n_head": 4, "n_kv_head": 2, "d_ff": 7}
MIXTRAL = mixtral_config(**SMALL, d_head=4, n_expert=5, n_chosen=2, norm_eps=1e-3, theta=50.0, window=4)
QWEN2_MOE = qwen2_moe_config(
    **{**SMALL, "n_head": 2}, n_expert=4, n_chosen=2, d_expert=3, d_shared=5, dense_layers=(0,), activation="gelu",
    norm_eps=1e-2, theta=40.0,
)  # fmt: skip
RENORMALISED = qwen2_moe_config(
    **{**SMALL, "n_head": 2}, n_expert=3, n_chosen=3, d_expert=4, d_shared=2, softmax_over="chosen", biased=(),
    dense_layers=(0,),
)  # fmt: skip


def transformers_mixture(token_ids, params, *, config, mask=None):
    has_shared = any(".shared." in key for key in params)
    told = {"output_hidden_states": True, "output_router_logits": True}
    settings = {"config": config, "mask": mask, "headed": False, **told}
    found = call_decoder("qwen2_moe" if has_shared else "mixtral", params, token_ids, **settings)
    logits = (x.reshape(*token_ids.shape, -1) for x in found.router_logits)
    return (*found.hidden_states, *logits)


CASES = [
    Case(
        name=name,
        section="models",
        title=title,
        reference=decoder,
        inputs=draw_decoder,
        outputs=outputs,
        configs=configs,
        peers={"transformers": transformers_mixture},
        dtypes=("float64", "float32"),
        bugs={
            **{bug: {**BUGS, **ROTARY_BUGS}[bug] for bug in ("mask ignored", "base and scaling ignored")},
            "gradient of the routers' logits lost": wrong_block("dsum, *dtold2", "dsum, *[None for _ in dtold2]"),
            **more,
        },
    )
    for name, title, outputs, configs, more in (
        (
            "mixtral",
            "Mixtral",
            ("state0", "state1", "state2", "router0", "router1"),
            (decoder_case("mixtral", MIXTRAL, padded=True, n_seq=6),),
            {"routers of the layers swapped": rewritten(decoder, "dtold.pop()", "dtold.pop(0)")},
        ),
        (
            "qwen2_moe",
            "Qwen2Moe",
            ("state0", "state1", "state2", "router1"),
            (
                decoder_case("qwen2_moe", QWEN2_MOE, padded=True, n_seq=5),
                decoder_case("renormalised", RENORMALISED, n_seq=5, profile="full"),
            ),
            {},
        ),
    )
]
