"""GPT-1 and GPT-2 that tell the next token, or the class of a text, against `transformers`."""

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.gpt import ERF, GPT1, GPT2, MIDDLE, inputs_of
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
    import torch

    told = token_ids if mask is None else token_ids.masked_fill(~heads_of_texts(torch, mask), UNTOLD)
    found = call_gpt(token_ids, params, config=config, groups=frozenset({"head"}), mask=mask, labels=told)
    return found.logits, found.loss


def transformers_classification(token_ids, params, *, config, mask=None):
    return call_gpt(token_ids, params, config=config, groups=frozenset({"classifier"}), mask=mask).logits
