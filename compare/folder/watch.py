"""Watching our models layer by layer, and feeding each layer the true input.

The text of a model stays as it is; what is called a block in it means, here, a block that is watched.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from refimpl.blocks.causal_block import causal_block
from refimpl.blocks.encoder import stack
from refimpl.models.decoder.embed import embed

_active = ContextVar("watch")


class Watch:
    """What goes into the first layer of every stack of blocks, and what each layer returns.

    Parameters
    ----------
    true : list of (list of array), optional
        The same, as it should be: whatever a layer returns, this goes on to the next one.
    """

    def __init__(self, true=None):
        self.true = true
        self.seen = []

    def enters(self, x):
        """Note what enters a stack.

        Parameters
        ----------
        x : array
            The embedded sequences.

        Returns
        -------
        array
            What its first layer shall read.
        """
        self.seen.append([])
        return self.passes(x)

    def passes(self, x):
        """Note what a layer returns.

        Parameters
        ----------
        x : array
            Its output.

        Returns
        -------
        array
            What the next layer shall read.
        """
        self.seen[-1].append(x)
        return x if self.true is None else self.true[len(self.seen) - 1][len(self.seen[-1]) - 1]


@contextmanager
def watching(true=None):
    """Watch the models that are called inside.

    Parameters
    ----------
    true : list of (list of array), optional
        As for `Watch`.

    Yields
    ------
    Watch
        What has been seen so far.
    """
    watch = Watch(true)
    token = _active.set(watch)
    try:
        yield watch
    finally:
        _active.reset(token)


def watched_stack(x, shared, params, *, block, n_layer, **settings):
    """Run a stack of blocks, as `stack`, and watch it.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    shared : tuple of array
        What every block reads.
    params : dict of array
        Those of the blocks.
    block : callable or sequence of callable
        The blocks.
    n_layer : int
        How many.
    **settings
        As for `stack`.

    Returns
    -------
    y, pullback
        As of `stack`.
    """
    blocks = [block] * n_layer if callable(block) else block
    watched = [_watched(each) for each in blocks]
    return stack(_active.get().enters(x), shared, params, block=watched, n_layer=n_layer, **settings)


def watched_embed(*args, **settings):
    """Embed tokens for a stack of causal blocks, as `embed`, and watch it.

    Parameters
    ----------
    *args, **settings
        As for `embed`.

    Returns
    -------
    y, pullback
        As of `embed`.
    """
    y, pullback = embed(*args, **settings)
    return _active.get().enters(y), pullback


def watched_causal_block(*args, **settings):
    """Run a causal block, as `causal_block`, and watch it.

    Parameters
    ----------
    *args, **settings
        As for `causal_block`.

    Returns
    -------
    y, pullback
        As of `causal_block`.
    """
    return _watched(causal_block)(*args, **settings)


def _watched(block):
    def variant(*args, **settings):
        y, pullback = block(*args, **settings)
        state, *told = y if isinstance(y, tuple) else (y,)
        state = _active.get().passes(state)
        return ((state, *told) if isinstance(y, tuple) else state), pullback

    return variant
