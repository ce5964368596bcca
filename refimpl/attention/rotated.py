"""Heads turned by a positions component that the caller chooses, or none."""

from refimpl.arrays import array_namespace


def rotated(heads, *, rotate=None, positions=None):
    """Turn heads by their positions, or leave them as they are.

    Parameters
    ----------
    heads : array, shape (n_batch, n_head, n_seq, d_head)
        Queries or keys.
    rotate : callable, optional
        Such as `refimpl.positions.rotary.rotary`.
    positions : array of int, shape (n_seq,) or (n_batch, n_seq), optional
        The same for all heads.

    Returns
    -------
    y : array, shape (n_batch, n_head, n_seq, d_head)
        The heads.
    pullback : callable
        Maps dy to ``(dheads,)``.
    """
    array_namespace(heads, positions)
    if rotate is None:
        return heads, _identity
    of_heads = positions[:, None, :] if positions is not None and positions.ndim == 2 else positions
    return rotate(heads, positions=of_heads)


def _identity(dy):
    return (dy,)
