"""T5 and T5 1.1, all their states, logits and losses, against `transformers`."""



from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal_params
from compare.cases.encoder import wrong_stack
from compare.cases.encoder_decoder import PADDED, draw_sequences, long, sizes
from compare.peers.family_peer import call_family
from compare.peers.float64_throughout import throughout
from refimpl.attention.biased_layer import biased_attention
from refimpl.blocks.t5_block import t5_decoder_block, t5_encoder_block
from refimpl.blocks.target_loss import target_loss
from refimpl.checkpoints.families.t5.names import t5_rows
from refimpl.models.t5 import halves
from refimpl.models.t5.config import T5Config
from refimpl.models.t5.halves import t5_decoder, t5_encoder
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5

SMALL = {
    "vocab_size": 17, "d_model": 9, "d_head": 4, "n_head": 3, "n_layer": 1, "n_decoder_layer": 2, "d_ff": 7,
    "n_bucket": 8, "max_distance": 7, "norm_eps": 1e-3,
}  # fmt: skip
FIRST = T5Config(**SMALL)
GATED = T5Config(**SMALL, activation="gelu_tanh", gated=True, scale_logits=False, pad_id=3, start_id=5)


def inputs(generator, *, config, n_batch, n_source, n_target, padded=False, groups=(), labelled=False):
    rows = [row for row in t5_rows(config) if row.group in ("backbone", *groups)]
    ids, masks = draw_sequences(generator, config, n_batch, n_source, n_target, padded, labelled)
    return Inputs((*ids, normal_params(generator, {row.ours: row.our_shape for row in rows})), masks)


def _call(params, config, **keywords):
    with throughout(next(iter(params.values())).dtype):
        return call_family("t5", params, config, use_cache=False, **keywords)


def transformers_t5(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    found = _call(
        params, config, input_ids=source_ids, attention_mask=long(mask), decoder_input_ids=target_ids,
        decoder_attention_mask=long(target_mask), output_hidden_states=True,
    )  # fmt: skip
    return (*found.encoder_hidden_states, *found.decoder_hidden_states)


def transformers_loss(source_ids, labels, params, *, lm, config, mask=None):
    found = _call(params, config, input_ids=source_ids, attention_mask=long(mask), labels=labels)
    return found.loss, found.logits


def wrong_encoder(old="", new="", **names):
    return rewritten(t5, t5_encoder=rewritten(t5_encoder, old, new, **names))


def wrong_decoder(old="", new="", **names):
    return rewritten(t5, t5_decoder=rewritten(t5_decoder, old, new, **names))


def wrong_attention(old, new):
    blocks = {block: rewritten(block, biased_attention=rewritten(biased_attention, old, new))
              for block in (t5_encoder_block, t5_decoder_block)}  # fmt: skip
    return rewritten(
        t5,
        t5_encoder=rewritten(t5_encoder, t5_encoder_block=blocks[t5_encoder_block]),
        t5_decoder=rewritten(t5_decoder, t5_decoder_block=blocks[t5_decoder_block]),
    )


def wrong_block(old, new):
    return wrong_decoder(t5_decoder_block=rewritten(t5_decoder_block, old, new))


def on_wrong_lm(old, new):
    wrong = rewritten(t5_lm, old, new)
    return lambda source_ids, labels, params, *, lm, **settings: target_loss(
        source_ids, labels, params, lm=wrong, **settings
    )


ONE_SIDED = rewritten(halves._bias, "bidirectional=bidirectional", "bidirectional=False")
TWO_SIDED = rewritten(halves._bias, "bidirectional=bidirectional", "bidirectional=True")

CASES = [
    Case(
        name="t5",
        section="models",
        title="T5",
        reference=t5,
        inputs=inputs,
        outputs=("source0", "source1", "target0", "target1", "target2"),
        configs=(
            Config("first", sizes(FIRST, 9, 8), {"config": FIRST}),
            Config("gated_padded", sizes(GATED, 6, 5, **PADDED), {"config": GATED}),
            Config("first_padded", sizes(FIRST, 4, 6, **PADDED), {"config": FIRST}, profile="full"),
            Config("gated", sizes(GATED, 1, 9), {"config": GATED}, profile="full"),
        ),
        peers={"transformers": transformers_t5},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "scores scaled": wrong_attention("scale=1.0", "scale=None"),
            "distances of the source one-sided": wrong_encoder(_bias=ONE_SIDED),
            "distances of the target two-sided": wrong_decoder(_bias=TWO_SIDED),
            "largest distance of others": wrong_encoder(
                _bias=rewritten(halves._bias, "config.max_distance", "config.max_distance + 3")
            ),
            "gradient of the distances from the first block only": rewritten(
                t5, t5_decoder=wrong_stack(t5_decoder, "shared gradients not added")
            ),
            "gradient of the asked positions lost": wrong_block("dasking + dasked", "dasking"),
            "gradient of the asking positions lost": wrong_block("dasking + dasked", "dasked"),
            "memory's gradient of the keys lost": wrong_attention("dmemory_k + dmemory_v", "dmemory_v"),
            "second residual missing in the backward": wrong_block("dmid2 + dmid1_normed", "dmid1_normed"),
            "padding of the source asked": wrong_decoder("memory_mask=None if memory_mask", "memory_mask=None if None"),
            "target sees what comes": wrong_decoder("else earlier & padding", "else padding"),
            "gradient of the memory lost": rewritten(t5, "add_gradients(dread[-1], dmemory)", "dread[-1]"),
            "gradient of the table from the source only": rewritten(t5, " + dof_target[TABLE]", ""),
        },
    ),
    Case(
        name="t5_loss",
        section="models",
        title="T5: loss, tied and untied heads",
        reference=target_loss,
        inputs=inputs,
        outputs=("loss", "logits"),
        configs=(
            Config("tied", sizes(FIRST, 5, 4, labelled=True), {"lm": t5_lm, "config": FIRST}),
            Config(
                "untied", sizes(GATED, 4, 6, **PADDED, labelled=True, groups=("head",)), {"lm": t5_lm, "config": GATED}
            ),
        ),
        peers={"transformers": transformers_loss},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "logits of the first T5 not scaled": on_wrong_lm("logit_scale(config)", "1.0"),
            "logits of T5 1.1 scaled": on_wrong_lm("logit_scale(config)", "1.0 / math.sqrt(config.d_model)"),
            "gradient not scaled": on_wrong_lm("dscaled * scale", "dscaled"),
            "tied head not in the gradient": on_wrong_lm(' + dhead["weight"] if', " if"),
            "untied head in the gradient of the table": on_wrong_lm("is_tied else dback", "1 else dback"),
            "head always tied": on_wrong_lm("TABLE if is_tied else HEAD", "TABLE"),
        },
    ),
]  # fmt: skip
