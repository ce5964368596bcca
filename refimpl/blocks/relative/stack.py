"""A stack of Transformer-XL's blocks, each with its own memory (Dai et al. 2019, arXiv:1901.02860, section 3)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_gradients,
    check_scopes,
    check_setting,
    check_shape,
    integer,
    keyed_as,
    merge,
    scope,
)
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.relative.block import relative_post_norm_block

BIASES = ("r_w_bias", "r_r_bias")


def relative_stack(x, memory, relative, params, *, n_layer, block=relative_post_norm_block, **settings):
    """Send a segment through one block after the other, and keep what each makes of it.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The segment.
    memory : array, shape (n_layer, n_batch, n_before, d_model)
        What went into every block for the positions before it.
    relative : array, shape (n_before + n_seq, d_model)
        Encodings of the distances n_before + n_seq - 1, …, 1, 0, the same for all blocks.
    params : dict of array
        ``layers.0.*``, ``layers.1.*``, … with the keys of the block.  Where ``r_w_bias`` and ``r_r_bias`` stand beside
        them, the blocks have none and share these.
    n_layer : int
        The number of blocks.
    block : callable, optional
        `relative_post_norm_block` or `relative_pre_norm_block`.
    **settings
        Handed to every block: ``n_head``, ``eps``, ``mask``.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        What each block returns.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to
        ``(dx, dmemory, drelative, dparams)``.

    Raises
    ------
    ValueError
        If the memory or the parameters are not those of `n_layer` blocks.
    """
    xp = array_namespace(x, memory, relative, params)
    integer("n_layer", n_layer, at_least=1)
    check_setting("n_layer", n_layer, n_layer <= len(params), f"at most {len(params)}, the number of parameters")
    check_shape("memory", memory, (n_layer, None, None, None))
    prefixes = [f"layers.{i}." for i in range(n_layer)]
    check_scopes(params, [*prefixes, *BIASES])
    shared = {f"self_attn.{key}": value for key, value in params.items() if key in BIASES}
    check_scopes({key: value for key, value in params.items() if key not in BIASES}, prefixes)
    doubled = [prefix + key for prefix in prefixes for key in shared if prefix + key in params]
    check_setting("params", doubled, not doubled, "without biases of the blocks where these share them")

    states, pullbacks = [], []
    for i, prefix in enumerate(prefixes):
        state, block_pullback = block(
            states[-1] if states else x, memory[i], relative, {**scope(params, prefix), **shared}, **settings
        )
        states.append(state)
        pullbacks.append(block_pullback)

    def pullback(dy):
        check_gradients(dy, states, none=range(n_layer - 1))
        dstate, drelative, dmemories, dparams, dshared = None, None, [], {}, {}
        upwards = zip(reversed(dy), reversed(prefixes), reversed(pullbacks), strict=True)
        for dstate_here, prefix, block_pullback in upwards:
            dstate, dmemory, drelative_here, dblock = block_pullback(add_gradients(dstate, dstate_here))
            dmemories.append(dmemory)
            drelative = add_gradients(drelative, drelative_here)
            dshared = {key: add_gradients(dshared.get(key), dblock[key]) for key in shared}
            dparams = merge(add_prefix(prefix, {key: d for key, d in dblock.items() if key not in shared}), dparams)
        everything = {**dparams, **scope(dshared, "self_attn.")}
        return dstate, xp.stack(dmemories[::-1], axis=0), drelative, keyed_as(everything, params)

    return tuple(states), pullback
