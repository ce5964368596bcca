"""Our models by the name of their family, run so that every layer can be seen."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from compare.cases.bug import rewritten
from compare.folder.watch import watched_causal_block, watched_embed, watched_stack, watching
from compare.interpretations.spread import Spread, spread
from refimpl.blocks.encoder import encoder
from refimpl.blocks.transformer import transformer
from refimpl.models.bert.heads import bert_for_pretraining
from refimpl.models.bert.model import bert
from refimpl.models.bert.tasks import bert_for_masked_lm
from refimpl.models.clip.image import clip_image
from refimpl.models.clip.model import clip
from refimpl.models.clip.text import clip_text
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.encoder_decoder.model import encoder_decoder
from refimpl.models.gpt.heads import gpt_lm
from refimpl.models.gpt.model import gpt
from refimpl.models.longformer.model import longformer
from refimpl.models.t5.halves import t5_decoder, t5_encoder
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5

ENCODER = rewritten(encoder, stack=watched_stack)
BERT = rewritten(bert, encoder=ENCODER)
PRETRAINING = rewritten(bert_for_pretraining, bert=BERT)
MASKED_LM = rewritten(bert_for_masked_lm, bert=BERT)
LONGFORMER = rewritten(longformer, stack=watched_stack)
CLIP = rewritten(
    clip, clip_image=rewritten(clip_image, encoder=ENCODER), clip_text=rewritten(clip_text, encoder=ENCODER)
)
GPT = rewritten(gpt, encoder=ENCODER)
GPT_LM = rewritten(gpt_lm, gpt=GPT)
DECODER = rewritten(decoder, embed=watched_embed, causal_block=watched_causal_block)
DECODER_LM = rewritten(decoder_lm, decoder=DECODER)
TRANSFORMER = rewritten(transformer, stack=watched_stack)
ENCODER_DECODER = rewritten(encoder_decoder, transformer=TRANSFORMER)
ENCODER_DECODER_LM = rewritten(encoder_decoder_lm, encoder_decoder=ENCODER_DECODER)
T5_ENCODER = rewritten(t5_encoder, stack=watched_stack)
T5 = rewritten(t5, t5_encoder=T5_ENCODER, t5_decoder=rewritten(t5_decoder, stack=watched_stack))
T5_LM = rewritten(t5_lm, t5=T5)


def stack_names(model_type):
    """Name the stacks of blocks of a model.

    Parameters
    ----------
    model_type : str
        Its family.

    Returns
    -------
    tuple of str
        What stands in front of the names of their layers.
    """
    if KINDS[model_type] == "clip":
        return ("image ", "text ")
    return ("encoder ", "decoder ") if reads_two(model_type) else ("",)


def reads_two(model_type):
    """Tell whether a model reads a source and a target.

    Parameters
    ----------
    model_type : str
        Its family.

    Returns
    -------
    bool
        True for an encoder–decoder.
    """
    return KINDS[model_type] in ("encoder_decoder", "t5")


@dataclass(frozen=True)
class Seen:
    """What a model showed.

    Attributes
    ----------
    stages : dict of (str, array)
        By name, from the embeddings upwards: what each stage returned.
    states : list of (list of array)
        The part of it that one layer hands to the next, stack by stack.
    """

    stages: dict
    states: list


def run_ours(model_type, ids, params, config, *, groups, true=None):
    """Run our model and look at every layer.

    Parameters
    ----------
    model_type : str
        Its family.
    ids : dict of (str, array of int)
        ``"token_ids"``, and for an encoder–decoder ``"target_ids"``.
    params : dict of array
        Our parameters, of any kind of array.
    config : object
        Our sizes and settings.
    groups : frozenset of str
        The parts of the model beside the backbone.
    true : list of (list of array), optional
        What each layer shall hand to the next, instead of what it returns.

    Returns
    -------
    Seen
        What it showed.
    """
    with watching(true) as watch:
        ends = RUNS[KINDS[model_type]](ids, params, config, groups)
    names = stack_names(model_type)
    stages = {}
    for name, states, (last, others) in zip(names, watch.seen, ends, strict=True):
        embedded, *layers = states
        stages[f"{name}embeddings"] = embedded
        stages |= {f"{name}layer {i}": layer for i, layer in enumerate(layers)}
        stages |= {} if last is None or last is layers[-1] else {f"{name}last norm": last}
        stages |= others
    return Seen(stages, watch.seen)


def _run_bert(ids, params, config, groups):
    given = (ids["token_ids"], 0 * ids["token_ids"] if config.n_segment else None)
    if groups == {"pooler", "mlm", "nsp"}:
        (logits, next_logits), _ = PRETRAINING(*given, params, config=config)
        return [(None, {"logits": logits, "next-sentence logits": next_logits})]
    if groups == {"mlm"}:
        return [(None, {"logits": MASKED_LM(*given, params, config=config)[0]})]
    BERT(*given, _backbone(params), config=config)
    return [(None, {})]


def _run_longformer(ids, params, config, groups):
    tokens = ids["token_ids"]
    no_global = np.full((tokens.shape[0], 1), tokens.shape[1])
    segments = 0 * tokens
    LONGFORMER(tokens, segments, _like(no_global, tokens), _backbone(params), config=config)
    return [(None, {})]


def _run_clip(ids, params, config, groups):
    (_, logits), _ = CLIP(ids["images"], ids["token_ids"], params, config=config)
    return [(None, {}), (None, {"logits of texts for images": logits})]


def _backbone(params):
    return {key: x for key, x in params.items() if key.startswith(("embeddings.", "encoder."))}


def _like(x, like):
    return spread(x, like.dtype) if isinstance(like, Spread) else x


def _run_gpt(ids, params, config, groups):
    if "head" in groups:
        known = {key: x for key, x in params.items() if not key.startswith("classifier.")}
        return [(None, {"logits": GPT_LM(ids["token_ids"], known, config=config)[0]})]
    backbone = {key: x for key, x in params.items() if not key.startswith(("head.", "classifier."))}
    states, _ = GPT(ids["token_ids"], backbone, config=config)
    return [(states[-1], {})]


def _run_decoder(ids, params, config, groups):
    if "head" in groups:
        (logits, *_), _ = DECODER_LM(ids["token_ids"], params, config=config)
        return [(None, {"logits": logits})]
    states, _ = DECODER(ids["token_ids"], params, config=config)
    return [(states[config.n_layer], {})]


def _run_encoder_decoder(ids, params, config, groups, *, model=ENCODER_DECODER, lm=ENCODER_DECODER_LM):
    if "head" in groups:
        logits, _ = lm(ids["token_ids"], ids["target_ids"], params, config=config)
        return [(None, {}), (None, {"logits": logits})]
    states, _ = model(ids["token_ids"], ids["target_ids"], params, config=config)
    return [(states[config.n_layer], {}), (states[-1], {})]


RUNS = {
    "bert": _run_bert, "gpt": _run_gpt, "decoder": _run_decoder, "encoder_decoder": _run_encoder_decoder,
    "t5": partial(_run_encoder_decoder, model=T5, lm=T5_LM), "longformer": _run_longformer, "clip": _run_clip,
}  # fmt: skip
KINDS = {
    "bert": "bert", "roberta": "bert", "distilbert": "bert", "albert": "bert", "longformer": "longformer",
    "clip": "clip", "gpt2": "gpt", "openai-gpt": "gpt", "bart": "encoder_decoder", "marian": "encoder_decoder",
    "pegasus": "encoder_decoder", "t5": "t5",
    **dict.fromkeys(("llama", "mistral", "mixtral", "qwen2_moe", "gpt_neox", "bloom"), "decoder"),
}  # fmt: skip
