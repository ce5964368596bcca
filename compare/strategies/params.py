"""Parameters of every component: which there are, of what shape, and random ones."""

import math

import numpy as np
from hypothesis import strategies as st

from compare.strategies.arrays import generators


@st.composite
def params(draw, required, optional=None):
    """Draw parameters: matrices that keep the size of what they map, everything else (norms too) normal.

    Parameters
    ----------
    draw : callable
        Given by Hypothesis.
    required : dict of tuple
        Shapes by key.
    optional : dict of tuple, optional
        Shapes of those, such as biases, of which any may be absent.

    Returns
    -------
    dict of numpy.ndarray
        The parameters.
    """
    there = {key: shape for key, shape in (optional or {}).items() if draw(st.booleans())}
    generator = draw(generators())
    return {
        key: np.asarray(generator.standard_normal(shape) / (math.sqrt(max(shape[1], 1)) if len(shape) == 2 else 1.0))
        for key, shape in {**required, **there}.items()
    }


def linear_shapes(d_in, d_out):
    """List the parameters of `linear`.

    Parameters
    ----------
    d_in, d_out : int
        The sizes that it maps between.

    Returns
    -------
    tuple of dict
        Shapes by key of those that must be there and of those that may be; so do all functions below.
    """
    return {"weight": (d_out, d_in)}, {"bias": (d_out,)}


def norm_shapes(d_model):
    """List the parameters of `layer_norm`.

    Parameters
    ----------
    d_model : int
        The size of the feature vectors.

    Returns
    -------
    tuple of dict
        Required and optional shapes.
    """
    return {}, {"weight": (d_model,), "bias": (d_model,)}


def multi_head_shapes(d_model, d_key=None, d_value=None):
    """List the parameters of `multi_head_attention`.

    Parameters
    ----------
    d_model : int
        The size of the queries and of the output.
    d_key, d_value : int, optional
        The sizes of keys and values; with them, the three projections have a weight each.

    Returns
    -------
    tuple of dict
        Required and optional shapes.
    """
    fused = {"in_proj_weight": (3 * d_model, d_model)}
    separate = {
        "q_proj_weight": (d_model, d_model),
        "k_proj_weight": (d_model, d_key),
        "v_proj_weight": (d_model, d_value),
    }
    required = {**(fused if d_key is None else separate), "out_proj.weight": (d_model, d_model)}
    return required, {"in_proj_bias": (3 * d_model,), "out_proj.bias": (d_model,)}


def feed_forward_shapes(d_model, d_ff):
    """List the parameters of `feed_forward`.

    Parameters
    ----------
    d_model, d_ff : int
        The sizes outside and inside.

    Returns
    -------
    tuple of dict
        Required and optional shapes.
    """
    return _joined(linear1=linear_shapes(d_model, d_ff), linear2=linear_shapes(d_ff, d_model))


def block_shapes(d_model, d_ff):
    """List the parameters of `post_norm_block` and `pre_norm_block`.

    Parameters
    ----------
    d_model, d_ff : int
        The sizes of the hidden states and inside the feed-forward network.

    Returns
    -------
    tuple of dict
        Required and optional shapes.
    """
    norms = {"norm1.weight": (d_model,), "norm2.weight": (d_model,)}
    biases = {"norm1.bias": (d_model,), "norm2.bias": (d_model,)}
    attention = scoped("self_attn.", multi_head_shapes(d_model))
    feed = feed_forward_shapes(d_model, d_ff)
    return {**attention[0], **feed[0], **norms}, {**attention[1], **feed[1], **biases}


def decoder_block_shapes(d_model, d_ff):
    """List the parameters of `post_norm_decoder_block` and `pre_norm_decoder_block`.

    Parameters
    ----------
    d_model, d_ff : int
        The sizes of the hidden states and inside the feed-forward network.

    Returns
    -------
    tuple of dict
        Required and optional shapes.
    """
    asking = scoped("multihead_attn.", multi_head_shapes(d_model))
    norm = {"norm3.weight": (d_model,)}, {"norm3.bias": (d_model,)}
    parts = zip(block_shapes(d_model, d_ff), asking, norm, strict=True)
    return tuple({**of_block, **further, **last} for of_block, further, last in parts)


def bert_shapes(config):
    """List the parameters of BERT and its heads, all of which must be there.

    Parameters
    ----------
    config : BertConfig
        The sizes.

    Returns
    -------
    dict of dict
        Shapes by key, in the groups ``embeddings.``, ``encoder.``, ``pooler.``, ``mlm.``, ``nsp.``, ``classifier.``
        and ``qa.``; the keys within a group come without its name.
    """
    d = config.d_model
    tables = {"token": config.vocab_size, "segment": config.n_segment, "position": config.n_position}
    block = _all(block_shapes(d, config.d_ff))
    blocks = [{f"layers.{i}.{key}": shape for key, shape in block.items()} for i in range(config.n_layer)]
    head = _all(_joined(dense=linear_shapes(d, d), norm=norm_shapes(d)))
    return {
        "embeddings.": {**{f"{key}.weight": (n, d) for key, n in tables.items()}, **_all(_joined(norm=norm_shapes(d)))},
        "encoder.": {key: shape for part in blocks for key, shape in part.items()},
        "pooler.": _all(linear_shapes(d, d)),
        "mlm.": {**head, "decoder.bias": (config.vocab_size,)},
        "nsp.": _all(linear_shapes(d, 2)),
        "classifier.": _all(linear_shapes(d, config.n_label)),
        "qa.": _all(linear_shapes(d, 2)),
    }


def scoped(prefix, shapes):
    """Put a prefix before every key.

    Parameters
    ----------
    prefix : str
        Such as ``"self_attn."``.
    shapes : tuple of dict
        Required and optional shapes.

    Returns
    -------
    tuple of dict
        The same under longer keys.
    """
    return tuple({prefix + key: shape for key, shape in part.items()} for part in shapes)


def _joined(**parts):
    named = [scoped(f"{name}.", shapes) for name, shapes in parts.items()]
    return tuple({key: shape for part in named for key, shape in part[i].items()} for i in range(2))


def _all(shapes):
    return {**shapes[0], **shapes[1]}
