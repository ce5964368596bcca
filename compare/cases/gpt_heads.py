"""GPT-1 and GPT-2 that tell the next token, or the class of a text, against `transformers`."""


import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.gpt import ERF, GPT1, GPT2, inputs_of
from compare.peers.float64_throughout import throughout
from compare.peers.transformers_gpt import call_gpt
from refimpl.arrays import array_namespace
from refimpl.blocks.next_token_loss import next_token_loss
from refimpl.models.gpt import heads
from refimpl.models.gpt.heads import gpt_for_sequence_classification, gpt_lm

UNTOLD = -100


def gpt_lm_with_loss(token_ids, params, *, config, mask=None):
    """Tell the next tokens of texts, and how surprising they are where they are no padding."""
    xp = array_namespace(token_ids, params, mask)
    logits, lm_pullback = gpt_lm(token_ids, params, config=config, mask=mask)
    targets = token_ids if mask is None else xp.where(heads_of_texts(xp, mask), token_ids, UNTOLD)
    loss, loss_pullback = next_token_loss(logits, targets, ignore_index=UNTOLD)

    def pullback(dy):
        dlogits, dloss = dy
        (dtold,) = loss_pullback(dloss)
        return lm_pullback(dlogits + dtold)

    return (logits, loss), pullback


def heads_of_texts(xp, mask):
    """Mark the tokens that a token stands before: the first of a text padded on the left follows padding."""
    return mask & xp.concatenate([mask[:, :1], mask[:, :-1]], axis=1)


def transformers_lm(token_ids, params, *, config, mask=None):
    told = token_ids if mask is None else token_ids.masked_fill(~heads_of_texts(torch, mask), UNTOLD)
    keywords = {"config": config, "groups": frozenset({"head"}), "mask": mask, "labels": told}
    # Their loss is float32 whatever the logits are; in float64 it is to be float64.
    with throughout(params["token.weight"].dtype):
        found = call_gpt(token_ids, params, **keywords)
    return found.logits, found.loss


def transformers_classification(token_ids, params, *, config, mask=None):
    return call_gpt(token_ids, params, config=config, groups=frozenset({"classifier"}), mask=mask).logits


SMALL = (
    Config("tied", {"config": GPT2, "n_batch": 2, "n_seq": 7}, {"config": GPT2}),
    Config("left", {"config": ERF, "n_batch": 3, "n_seq": 6, "padded": "left"}, {"config": ERF}),
    Config("right", {"config": GPT1, "n_batch": 3, "n_seq": 6, "padded": "right"}, {"config": GPT1}),
)


def wrong_lm(old, new):
    return rewritten(gpt_lm_with_loss, gpt_lm=rewritten(gpt_lm, old, new))


def wrong_loss(old, new):
    return rewritten(gpt_lm_with_loss, next_token_loss=rewritten(next_token_loss, old, new))


def wrong_last(old, new):
    last_tokens = rewritten(heads.last_tokens, old, new)
    return rewritten(gpt_for_sequence_classification, last_tokens=last_tokens)


CASES = [
    Case(
        name="gpt_lm",
        section="models",
        title="GPT that tells the next token",
        reference=gpt_lm_with_loss,
        inputs=inputs_of("backbone", "head"),
        outputs=("logits", "loss"),
        configs=SMALL,
        peers={"transformers": transformers_lm},
        dtypes=("float64", "float32"),
        bugs={
            "tied gradient not added": wrong_lm(
                'dbackbone[TOKEN_TABLE] + dhead["weight"] if', "dbackbone[TOKEN_TABLE] if"
            ),
            "only the tied gradient": wrong_lm('dbackbone[TOKEN_TABLE] + dhead["weight"] if', 'dhead["weight"] if'),
            "head tied where it is not": wrong_lm(
                "params[TOKEN_TABLE if config.tied else HEAD]", "params[TOKEN_TABLE]"
            ),
            "logits of the state before the last": wrong_lm("states[-1]", "states[-2]"),
            "mask ignored": wrong_lm("mask=mask", "mask=None"),
            "targets not shifted": wrong_loss("targets[:, 1:], ignore", "targets[:, :-1], ignore"),
            "shifted twice": wrong_loss(
                "logits[:, :-1], targets[:, 1:]", "logits[:, :-2], targets[:, 2:]"
            ),
            "gradient of the loss shifted": wrong_loss("(0, n_untold)", "(n_untold, 0)"),
            "padding counts": rewritten(gpt_lm_with_loss, "token_ids if mask is None", "token_ids if True"),
        },
    ),
    Case(
        name="gpt_for_sequence_classification",
        section="models",
        title="GPT for sequence classification",
        reference=gpt_for_sequence_classification,
        inputs=inputs_of("backbone", "classifier"),
        configs=SMALL,
        peers={"transformers": transformers_classification},
        dtypes=("float64", "float32"),
        bugs={
            "the last place, padding or not": wrong_last("places if mask is None else", "places if True else"),
            "number of tokens for the place of the last": wrong_last(
                "xp.max(places if mask is None else xp.where(mask, places, 0), axis=1)",
                "places[:, -1] if mask is None else xp.sum(mask, axis=1) - 1",
            ),
            "the token before the last": wrong_last("xp.where(mask, places, 0)", "xp.where(mask, places - 1, 0) % 99"),
            "the first token": wrong_last("xp.max(", "xp.min("),
            "gradient to the last place": rewritten(
                gpt_for_sequence_classification,
                "scatter_add(chosen,", "scatter_add(xp.arange(n_batch) * n_seq + n_seq - 1,",
            ),
            "gradient to another text": rewritten(
                gpt_for_sequence_classification, "scatter_add(chosen,", "scatter_add(chosen[::-1],"
            ),
            "mask ignored by the model": rewritten(
                gpt_for_sequence_classification, "config=config, mask=mask,", "config=config, mask=None,"
            ),
        },
    ),
]  # fmt: skip
