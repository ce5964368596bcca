"""Our models, whose every stage is watched: of each kind of family, and with each head, how to run it."""

from functools import partial

from compare.cases.bug import rewritten
from compare.folder.watch import (
    watched_as,
    watched_causal_block,
    watched_embed,
    watched_relative_stack,
    watched_stack,
)
from refimpl.arrays import scope
from refimpl.blocks.encoder import encoder
from refimpl.blocks.transformer import transformer
from refimpl.models.bert.heads import bert_for_pretraining, bert_for_sequence_classification, pooler
from refimpl.models.bert.model import BACKBONE, bert
from refimpl.models.bert.tasks import (
    bert_for_classification,
    bert_for_masked_lm,
    bert_for_question_answering,
    bert_for_token_classification,
)
from refimpl.models.clip.image import clip_image
from refimpl.models.clip.model import clip
from refimpl.models.clip.text import clip_text
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.encoder_decoder.model import encoder_decoder
from refimpl.models.gpt.heads import gpt_for_sequence_classification, gpt_lm
from refimpl.models.gpt.model import gpt
from refimpl.models.longformer.model import longformer
from refimpl.models.t5.halves import t5_decoder, t5_encoder
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5
from refimpl.models.transformer_xl.heads import transformer_xl_lm
from refimpl.models.transformer_xl.model import transformer_xl

LOGITS, NEXT, POOLER = "logits", "next-sentence logits", "pooler"
STARTS, ENDS = "logits of first tokens", "logits of last tokens"
IMAGES, TEXTS, PAIRS = "image vectors", "text vectors", "logits of texts for images"
LOG_PROBS = "log-probabilities"

ENCODER = rewritten(encoder, stack=watched_stack)
BERT = rewritten(bert, encoder=ENCODER)
POOL = watched_as(POOLER, pooler)
LONGFORMER = rewritten(longformer, stack=watched_stack)
CLIP = rewritten(
    clip,
    clip_image=watched_as(IMAGES, rewritten(clip_image, encoder=ENCODER), -1),
    clip_text=watched_as(TEXTS, rewritten(clip_text, encoder=ENCODER), -1),
)
GPT = rewritten(gpt, encoder=ENCODER)
DECODER = rewritten(decoder, embed=watched_embed, causal_block=watched_causal_block)
TRANSFORMER = rewritten(transformer, stack=watched_stack)
ENCODER_DECODER = rewritten(encoder_decoder, transformer=TRANSFORMER)
T5_ENCODER = rewritten(t5_encoder, stack=watched_stack)
T5 = rewritten(t5, t5_encoder=T5_ENCODER, t5_decoder=rewritten(t5_decoder, stack=watched_stack))
TRANSFORMER_XL = rewritten(transformer_xl, relative_stack=watched_relative_stack)

# The heads of BERT and its relatives: by the parts beside the backbone the model, and the stages that it returns.
BERT_HEADS = {
    frozenset({"mlm"}): (rewritten(bert_for_masked_lm, bert=BERT), (LOGITS,)),
    frozenset({"pooler", "mlm", "nsp"}): (rewritten(bert_for_pretraining, bert=BERT, pooler=POOL), (LOGITS, NEXT)),
    frozenset({"pooler", "nsp"}): (rewritten(bert_for_sequence_classification, bert=BERT, pooler=POOL), (LOGITS,)),
    frozenset({"pooler", "classifier"}): (
        rewritten(bert_for_sequence_classification, bert=BERT, pooler=POOL), (LOGITS,)
    ),
    frozenset({"classifier"}): (rewritten(bert_for_token_classification, bert=BERT), (LOGITS,)),
    frozenset({"qa"}): (rewritten(bert_for_question_answering, bert=BERT), (STARTS, ENDS)),
    frozenset({"head"}): (partial(rewritten(bert_for_classification, bert=BERT), activation="tanh"), (LOGITS,)),
}  # fmt: skip


def _run_bert(ids, params, config, groups):
    given = (ids["token_ids"], 0 * ids["token_ids"] if config.n_segment else None)
    if groups not in BERT_HEADS:
        states, _ = BERT(*given, _backbone(params), config=config)
        return _pooled(states, params, config.pooler_activation)
    model, stages = BERT_HEADS[groups]
    # Whether a sentence follows is a class of two.
    own = {key.replace("nsp.", "classifier.") if groups == {"pooler", "nsp"} else key: params[key] for key in params}
    found, _ = model(*given, own, config=config)
    return dict(zip(stages, found if isinstance(found, tuple) else (found,), strict=True))


def _run_longformer(ids, params, config, groups):
    tokens = ids["token_ids"]
    no_global = 0 * tokens[:, :1] + tokens.shape[1]
    states, _ = LONGFORMER(tokens, 0 * tokens, no_global, _backbone(params), config=config)
    return _pooled(states, params, "tanh")


def _pooled(states, params, activation):
    if "pooler.weight" in params:
        POOL(states[-1], scope(params, "pooler."), activation=activation)
    return {}


def _backbone(params):
    return {key: x for key, x in params.items() if key.startswith(BACKBONE)}


def _run_clip(ids, params, config, groups):
    (_, logits), _ = CLIP(ids["images"], ids["token_ids"], params, config=config)
    return {PAIRS: logits}


GPT_HEADS = {
    frozenset({"head"}): rewritten(gpt_lm, gpt=GPT),
    frozenset({"classifier"}): rewritten(gpt_for_sequence_classification, gpt=GPT),
}


def _run_gpt(ids, params, config, groups):
    if groups in GPT_HEADS:
        return {LOGITS: GPT_HEADS[groups](ids["token_ids"], params, config=config)[0]}
    GPT(ids["token_ids"], params, config=config)
    return {}


def _watched_decoder(token_ids, params, *, config, **settings):
    return watched_as("last norm", DECODER, config.n_layer)(token_ids, params, config=config, **settings)


DECODER_LM = rewritten(decoder_lm, decoder=_watched_decoder)


def _run_decoder(ids, params, config, groups):
    if "head" in groups:
        (logits, *_), _ = DECODER_LM(ids["token_ids"], params, config=config)
        return {LOGITS: logits}
    _watched_decoder(ids["token_ids"], params, config=config)
    return {}


def _run_encoder_decoder(ids, params, config, groups, *, model, lm):
    if "head" in groups:
        return {LOGITS: lm(ids["token_ids"], ids["target_ids"], params, config=config)[0]}
    model(ids["token_ids"], ids["target_ids"], params, config=config)
    return {}


TRANSFORMER_XL_LM = rewritten(transformer_xl_lm, transformer_xl=TRANSFORMER_XL)


def _run_transformer_xl(ids, params, config, groups):
    if "softmax" in groups:
        (log_probs, _), _ = TRANSFORMER_XL_LM(ids["token_ids"], ids["memory"], params, config=config)
        return {LOG_PROBS: log_probs}
    TRANSFORMER_XL(ids["token_ids"], ids["memory"], params, config=config)
    return {}


RUNS = {
    "bert": _run_bert, "gpt": _run_gpt, "decoder": _run_decoder, "longformer": _run_longformer, "clip": _run_clip,
    "encoder_decoder": partial(
        _run_encoder_decoder, model=ENCODER_DECODER, lm=rewritten(encoder_decoder_lm, encoder_decoder=ENCODER_DECODER)
    ),
    "t5": partial(_run_encoder_decoder, model=T5, lm=rewritten(t5_lm, t5=T5)),
    "transformer_xl": _run_transformer_xl,
}  # fmt: skip
