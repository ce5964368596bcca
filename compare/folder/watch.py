"""Watching our models layer by layer, and feeding each layer the true input.

The text of a model stays as it is; what is called a block in it means, here, a block that is watched.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from refimpl.blocks.causal_block import causal_block
from refimpl.blocks.encoder import stack
from refimpl.blocks.relative.stack import relative_stack
from refimpl.models.decoder.embed import embed

_active = ContextVar("watch")


class Watch:
    """What the stages of a model return, from the embeddings upwards.

    Parameters
    ----------
    stacks : sequence of str
        What stands in front of the names of the stages of each stack of blocks, in the order in which they run.
    true : dict of (str, array), optional
        By stage what it should return: whatever it does return, this goes on to the next one.
    note : callable, optional
        Called without arguments after every stage.
    """

    def __init__(self, stacks, true=None, note=None):
        self.seen = {}
        self._true = true or {}
        self._note = note or (lambda: None)
        self._waiting = [*stacks]
        self._stack, self._n_layer = "", 0

    def point(self, stage, x):
        """Note what a stage returns.

        Parameters
        ----------
        stage : str
            Its name.
        x : array
            Its output.

        Returns
        -------
        array
            What the next stage shall read.
        """
        self.seen[stage] = x
        self._note()
        return self._true.get(stage, x)

    def enters(self, x):
        """Note what enters the next stack.

        Parameters
        ----------
        x : array
            The embedded sequences.

        Returns
        -------
        array
            What its first layer shall read.
        """
        self._stack, self._n_layer = self._waiting.pop(0), 0
        return self.point(f"{self._stack}embeddings", x)

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
        self._n_layer += 1
        return self.point(f"{self._stack}layer {self._n_layer - 1}", x)

    def ends(self, x):
        """Note what the norm behind the last layer returns.

        Parameters
        ----------
        x : array
            Its output.

        Returns
        -------
        array
            What reads the stack shall read.
        """
        return self.point(f"{self._stack}last norm", x)


@contextmanager
def watching(stacks, true=None, note=None):
    """Watch the models that are called inside.

    Parameters
    ----------
    stacks : sequence of str
        As for `Watch`.
    true : dict of (str, array), optional
        As for `Watch`.
    note : callable, optional
        As for `Watch`.

    Yields
    ------
    Watch
        What has been seen so far.
    """
    watch = Watch(stacks, true, note)
    token = _active.set(watch)
    try:
        yield watch
    finally:
        _active.reset(token)


def watched_stack(x, shared, params, *, block, n_layer, norm=None, **settings):
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
    norm : callable, optional
        The norm behind them.
    **settings
        As for `stack`.

    Returns
    -------
    y, pullback
        As of `stack`.
    """
    blocks = [block] * n_layer if callable(block) else block
    watch = _active.get()
    parts = {"block": [_watched(each) for each in blocks], "norm": norm and _watched(norm, Watch.ends)}
    return stack(watch.enters(x), shared, params, n_layer=n_layer, **parts, **settings)


def watched_relative_stack(x, memory, relative, params, *, block, **settings):
    """Run a stack of Transformer-XL's blocks, as `relative_stack`, and watch it.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The segment.
    memory, relative, params : array, array and dict of array
        As for `relative_stack`.
    block : callable
        The block.
    **settings
        As for `relative_stack`.

    Returns
    -------
    y, pullback
        As of `relative_stack`.
    """
    return relative_stack(_active.get().enters(x), memory, relative, params, block=_watched(block), **settings)


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


def watched_as(stage, part, place=None):
    """Let a part of a model be watched.

    Parameters
    ----------
    stage : str
        The name of the stage that ends there.
    part : callable
        ``part(...) -> (y, pullback)``.
    place : int, optional
        Which element of a tuple y ends the stage.

    Returns
    -------
    callable
        The same, and its output is noted.
    """

    def variant(*args, **settings):
        y, pullback = part(*args, **settings)
        if place is None:
            return _active.get().point(stage, y), pullback
        y = [*y]
        y[place] = _active.get().point(stage, y[place])
        return tuple(y), pullback

    return variant


def _watched(part, note=Watch.passes):
    def variant(*args, **settings):
        y, pullback = part(*args, **settings)
        state, *told = y if isinstance(y, tuple) else (y,)
        state = note(_active.get(), state)
        return ((state, *told) if isinstance(y, tuple) else state), pullback

    return variant
