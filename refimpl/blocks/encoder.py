"""A stack of encoder blocks (Vaswani et al. 2017, arXiv:1706.03762, section 3.1)."""

from refimpl.arrays import add_prefix, check_scopes, check_setting, integer, merge, scope
from refimpl.blocks.encoder_block import post_norm_block


def encoder(x, params, *, n_layer, block=post_norm_block, **settings):
    """Send the sequences through one block after the other, and keep what each makes of them.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    params : dict of array
        ``layers.0.*``, ``layers.1.*``, … with the keys of the block, as in `torch.nn.TransformerEncoder`.
    n_layer : int
        The number of blocks.
    block : callable or sequence of callable, optional
        `post_norm_block`, `pre_norm_block` or another of this kind, or one for each layer.
    **settings
        Handed to every block: ``n_head``, ``activation``, ``eps``, ``mask``, ``attend``.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        What each block returns; the last one is the encoder's output.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If the parameters are not those of `n_layer` blocks, or there are fewer or more blocks.
    """
    integer("n_layer", n_layer)
    check_setting("n_layer", n_layer, n_layer > 0, "positive")
    check_setting("n_layer", n_layer, n_layer <= len(params), f"at most {len(params)}, the number of parameters")
    prefixes = [f"layers.{i}." for i in range(n_layer)]
    check_scopes(params, prefixes)
    blocks = [block] * n_layer if callable(block) else [*block]
    check_setting("block", len(blocks), len(blocks) == n_layer, f"one, or one for each of {n_layer} layers")

    states, pullbacks = [], []
    for prefix, layer_block in zip(prefixes, blocks, strict=True):
        state, block_pullback = layer_block(states[-1] if states else x, scope(params, prefix), **settings)
        states.append(state)
        pullbacks.append(block_pullback)

    def pullback(dy):
        dstate, dparams = None, {}
        upwards = zip(reversed(dy), reversed(prefixes), reversed(pullbacks), strict=True)
        for dstate_here, prefix, block_pullback in upwards:
            dstate, dblock = block_pullback(add_gradients(dstate, dstate_here))
            dparams = merge(add_prefix(prefix, dblock), dparams)
        return dstate, {key: dparams[key] for key in params}

    return tuple(states), pullback


def add_gradients(*gradients):
    """Add the gradients that reach one array along several paths.

    Parameters
    ----------
    *gradients : array or None
        The gradients; None stands for a path that does not exist.

    Returns
    -------
    array
        Their sum.
    """
    first, *others = [gradient for gradient in gradients if gradient is not None]
    total = first
    for gradient in others:
        total = total + gradient
    return total
