"""Stacks of blocks; the encoder is one whose blocks read nothing else (Vaswani et al. 2017, arXiv:1706.03762, 3.1)."""

from refimpl.arrays import (
    add_prefix,
    check_gradients,
    check_scopes,
    check_setting,
    integer,
    keyed_as,
    merge,
    pick,
    scope,
)
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
        Handed to every block: ``n_head``, ``activation``, ``eps``, ``mask``, ``attend``; and `norm`, see `stack`.

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
    y, stack_pullback = stack(x, (), params, n_layer=n_layer, block=block, **settings)

    def pullback(dy):
        dx, _, dparams = stack_pullback(dy)
        return dx, dparams

    return y, pullback


def stack(x, shared, params, *, n_layer, block, norm=None, **settings):
    """Send sequences through blocks that all read the same arrays beside what the block before them made.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    shared : tuple of array
        What every block reads: what an encoder made of its input, a bias of the attention.
    params : dict of array
        ``layers.0.*``, ``layers.1.*``, … with the keys of the block; and ``norm.*``, if there is a `norm`.
    n_layer : int
        The number of blocks.
    block : callable or sequence of callable
        ``block(x, *shared, params, **settings)``, whose pullback gives ``(dx, *dshared, dparams)``; one, or one for
        each layer.
    norm : callable, optional
        `layer_norm` or `rms_norm` of what the last block returns: without one, nothing bounds a pre-norm stack.
    **settings
        Handed to every block; the norm takes ``eps``, if it is there.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        What each block returns, the last one behind the norm.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dx, dshared, dparams)``.

    Raises
    ------
    ValueError
        If the parameters are not those of `n_layer` blocks, or there are fewer or more blocks.
    """
    integer("n_layer", n_layer)
    check_setting("n_layer", n_layer, n_layer > 0, "positive")
    check_setting("n_layer", n_layer, n_layer <= len(params), f"at most {len(params)}, the number of parameters")
    prefixes = [f"layers.{i}." for i in range(n_layer)]
    check_scopes(params, [*prefixes, "norm."] if norm else prefixes)
    blocks = [block] * n_layer if callable(block) else [*block]
    check_setting("block", len(blocks), len(blocks) == n_layer, f"one, or one for each of {n_layer} layers")

    states, pullbacks = [], []
    for prefix, layer_block in zip(prefixes, blocks, strict=True):
        state, block_pullback = layer_block(states[-1] if states else x, *shared, scope(params, prefix), **settings)
        states.append(state)
        pullbacks.append(block_pullback)
    last, norm_pullback = (norm or _unchanged)(states[-1], scope(params, "norm."), **pick(settings, "eps"))

    def pullback(dy):
        check_gradients(dy, states, none=range(n_layer - 1))
        dtop, dnorm = norm_pullback(dy[-1])
        dstate, dshared, dparams = None, [None] * len(shared), add_prefix("norm.", dnorm)
        upwards = zip(reversed([*dy[:-1], dtop]), reversed(prefixes), reversed(pullbacks), strict=True)
        for dstate_here, prefix, block_pullback in upwards:
            dstate, *dshared_here, dblock = block_pullback(add_gradients(dstate, dstate_here))
            dshared = [add_gradients(*both) for both in zip(dshared, dshared_here, strict=True)]
            dparams = merge(add_prefix(prefix, dblock), dparams)
        return dstate, tuple(dshared), keyed_as(dparams, params)

    return (*states[:-1], last), pullback


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


def _unchanged(x, params, *, eps=None):
    return x, _gradient_unchanged


def _gradient_unchanged(dy):
    return dy, {}
