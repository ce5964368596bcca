"""Planted bugs: the reference's own text with one edit, or a wrapper that misbehaves.

A bug shows exactly what differs, and it cannot drift from the reference: an edit that no longer applies raises
when the bug is called.  Nothing is compiled before: a comparison that plants no bugs does not pay for them.
"""

import ast
import functools
import inspect
import itertools
import textwrap

import numpy as np

from compare.peers.tree import is_differentiable, leaves, map_arrays


class StaleEdit(ValueError):
    """An edit that no longer applies to the text it was written for."""


def rewritten(function, old="", new="", **names):
    """Edit one place in the text of a component.

    Parameters
    ----------
    function : callable
        The component.
    old : str, optional
        Text that occurs exactly once in its source.
    new : str, optional
        What stands there instead.
    **names : object
        What other names in the text mean, such as ``softmax=<a wrong softmax>``.

    Returns
    -------
    callable
        The wrong variant, of the same signature.  Called, it raises a `StaleEdit` if `old` does not occur exactly
        once, or a name is not a global of the component's module that its text reads.
    """

    @functools.wraps(function)
    def variant(*args, **keywords):
        return _compiled(function, old, new, tuple(names.items()))(*args, **keywords)

    return variant


@functools.cache
def _compiled(function, old, new, names):
    source = textwrap.dedent(inspect.getsource(function))
    if old and source.count(old) != 1:
        raise StaleEdit(f"{old!r} must occur once in {function.__name__}, got {source.count(old)} times")
    # A global that is no longer read is one that the computation has moved away from: the bug would do nothing.
    edited = source.replace(old, new) if old else source
    read = {node.id for node in ast.walk(ast.parse(edited)) if isinstance(node, ast.Name)}
    strangers = dict(names).keys() - (function.__globals__.keys() & read)
    if strangers:
        where = f"globals of {function.__module__} that {function.__name__} reads"
        raise StaleEdit(f"names must be {where}, got {', '.join(sorted(strangers))}")
    namespace = {**function.__globals__, **dict(names)}
    where = f"<{function.__name__} with {old!r} replaced by {new!r}>"
    exec(compile(edited, where, "exec"), namespace)
    return namespace[function.__name__]


def wrong_gradients(function, change):
    """Change what the pullback returns.

    Parameters
    ----------
    function : callable
        The component.
    change : callable
        ``change(gradients) -> gradients``, on the tuple that the pullback returns.

    Returns
    -------
    callable
        The wrong variant, of the same signature.
    """

    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        return y, lambda dy: change(pullback(dy))

    return variant


def _zeros(function):
    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        blank = lambda tree: map_arrays(np.zeros_like, tree)  # noqa: E731
        return blank(y), lambda dy: blank(pullback(dy))

    return variant


def _nan(function):
    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        return map_arrays(lambda x: x + float("nan"), y), pullback

    return variant


def _wrong_dtype(function):
    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        other = np.float64 if any(x.dtype != np.float64 for x in leaves(y)) else np.float32
        return map_arrays(lambda x: x.astype(other), y), pullback

    return variant


def _no_gradients(function):
    return wrong_gradients(function, lambda gradients: ())


def _zero_gradients(function):
    return wrong_gradients(function, lambda gradients: map_arrays(np.zeros_like, gradients))


def _mutated_input(function):
    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        for x in leaves(args):
            if is_differentiable(x) and x.size:
                x.flags.writeable = True
                x.view(np.ndarray)[...] *= 2
                break
        return y, pullback

    return variant


def _aliased_gradient(function):
    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)

        def aliasing(dy):
            first, *others = pullback(dy)
            alias = leaves(args)[-1] if isinstance(first, dict) else leaves(dy)[0]
            return (dict.fromkeys(first, alias) if isinstance(first, dict) else alias, *others)

        return y, aliasing

    return variant


def _call_count(function):
    calls = itertools.count()

    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        # Right the first time, and then no longer: as a pullback that adds into a buffer.
        return y, lambda dy: map_arrays(lambda x: x * (1.0 + next(calls)), pullback(dy))

    return variant


def _remembers_the_first_call(function):
    kept = []

    def variant(*args, **keywords):
        if not kept:
            kept.append(function(*args, **keywords))
        return kept[0]

    return variant


def _stale_buffer(function):
    buffers = []

    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        if not buffers:
            buffers.extend(np.array(x) for x in leaves(y))
        remaining = iter(buffers)

        def written(x):
            buffer = next(remaining)
            np.copyto(buffer, np.asarray(x))
            return buffer.view(type(x))

        return map_arrays(written, y), pullback

    return variant


def _stale_gradient(function):
    def variant(*args, **keywords):
        y, pullback = function(*args, **keywords)
        kept = []

        def stale(dy):
            if not kept:
                kept.append(pullback(dy))
            return map_arrays(np.copy, kept[0])

        return y, stale

    return variant


BEHAVIOURS = {
    "zeros": _zeros,
    "NaN": _nan,
    "wrong dtype": _wrong_dtype,
    "no gradients": _no_gradients,
    "zero gradients": _zero_gradients,
    "mutated input": _mutated_input,
    "aliased gradient": _aliased_gradient,
    "depends on the call count": _call_count,
    "remembers the first call": _remembers_the_first_call,
    "stale buffer": _stale_buffer,
    "stale gradient": _stale_gradient,
}
