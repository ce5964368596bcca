"""What the cases of all decoder-only models have in common."""

import numpy as np

from compare.cases.bug import rewritten
from compare.cases.case import Config, Inputs
from compare.cases.draw import normal_params
from compare.cases.grouped_query import BUGS as GROUPED_BUGS
from compare.cases.grouped_query_layer import LAYER_BUGS
from refimpl.attention.grouped.layer import grouped_query_self_attention
from refimpl.blocks.causal_block import causal_block
from refimpl.models.decoder import model
from refimpl.models.decoder.attend import Attend
from refimpl.models.decoder.config import decoder_shapes
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder

HEAD = "head.weight"


def draw_decoder(generator, *, config, n_batch, n_seq, padded=False, headed=False):
    """Draw tokens and parameters, and a mask where sequences are padded: on the left, on the right, on both sides."""
    token_ids = generator.integers(0, config.vocab_size, (n_batch, n_seq))
    shapes = {key: shape for key, shape in decoder_shapes(config).items() if headed or key != HEAD}
    params = normal_params(generator, shapes)
    if not padded:
        return Inputs((token_ids, params))
    rows, places = np.arange(n_batch)[:, None], np.arange(n_seq)
    n_left, n_right = (rows + 2) % 3, rows % 3  # 2 and 0, 0 and 1, 1 and 2
    return Inputs((token_ids, params), {"mask": (places >= n_left) & (places < n_seq - n_right)})


def decoder_case(name, of, *, n_batch=3, n_seq=7, padded=False, headed=False, **more):
    """Fill in one configuration of a case."""
    sizes = {"config": of, "n_batch": n_batch, "n_seq": n_seq, "padded": padded, "headed": headed}
    return Config(name, sizes, {"config": of}, **more)


def wrong_attention(old="", new="", **names):
    """Edit the attention part of a decoder."""
    variant = rewritten(Attend.__call__, old, new, **names)
    return rewritten(decoder, Attend=type("Attend", (Attend,), {"__call__": variant}))


def wrong_layer(old="", new="", **names):
    """Edit the attention layer of a decoder."""
    return wrong_attention(
        grouped_query_self_attention=rewritten(grouped_query_self_attention, old, new, **names)
    )


def wrong_block(old, new):
    """Edit the block of a decoder."""
    return rewritten(decoder, causal_block=rewritten(causal_block, old, new))


# Bugs that any decoder-only model can have.
BUGS = {
    "mask ignored": rewritten(decoder, '"mask": seen', '"mask": None'),
    "padding is seen": rewritten(decoder, "_who_sees_whom(token_ids, mask,", "_who_sees_whom(token_ids, None,"),
    "last state not normalised": rewritten(decoder, "(*states[:-1], normed,", "(*states,"),
    "eps of the checkpoint ignored": rewritten(decoder, "config.norm(states", "type(config.norm)()(states"),
    "scale by d": wrong_layer(grouped_query_attention=GROUPED_BUGS["scale by d"]),
    "gradients of inner states lost": rewritten(decoder, "add_gradients(dbefore, dstates[i])", "dbefore"),
    "gradient of the residual branch lost": wrong_block("(dmid, dx_attended", "(dx_attended"),
    "gradient of the keys lost": wrong_layer(**LAYER_BUGS["gradient of the keys lost"]),
}
ROTARY_BUGS = {
    "keys are not rotated": wrong_layer(**LAYER_BUGS["keys are not rotated"]),
    "gradient of the rotation forgotten": wrong_layer(**LAYER_BUGS["gradient of the rotation forgotten"]),
    "base and scaling ignored": wrong_attention(
        "(x, separate, **self.settings)",
        "(x, separate, **{**self.settings, 'rotate': type(self.settings['rotate'].__self__)().rotate})",
    ),
}
SEQUENTIAL_BUGS = {
    "second norm reads what the first does": wrong_block("norm(x if parallel else mid,", "norm(x,"),
    "gradient of the second branch lost": wrong_block("dsum if parallel else dsum + dread", "dsum"),
}
WINDOW_BUGS = {
    "window off by one": rewritten(
        decoder, _who_sees_whom=rewritten(model._who_sees_whom, "left=window - 1", "left=window")
    ),
}
GROUPED_BUGS = {
    name: wrong_layer(grouped_query_attention=GROUPED_BUGS[name])
    for name in ("heads tiled instead of repeated", "gradient of the group not summed")
}
HEAD_BUGS = {
    "gradient of the embeddings lost": rewritten(decoder_lm, 'dbackbone[TOKENS] + dhead["weight"]', 'dhead["weight"]'),
    "gradient of the head lost": rewritten(decoder_lm, ' + dhead["weight"]', ""),
    "the embeddings for the last state": rewritten(decoder_lm, "(states[config.n_layer],", "(states[0],"),
}
