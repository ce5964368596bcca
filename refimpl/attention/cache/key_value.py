"""The key/value cache: what attention remembers of the past, so that decoding computes only what is new.

A cache is a value.  Nothing is written into it: to append gives a new cache, and the old one still says what it said.
"""

from dataclasses import dataclass, replace
from typing import Any

from refimpl.arrays import array_namespace, cast, check_ids, check_setting, check_shape
from refimpl.attention.cache.rows import check_new, checked_counts, forked_rows, next_positions


@dataclass(frozen=True)
class KeyValueCache:
    """Keys and values of the past, and where in its text each of them stands.

    Attributes
    ----------
    k : array, shape (n_batch, n_kv_head, n_key, d_head)
        Keys, the newest last.
    v : array, shape (n_batch, n_kv_head, n_key, d_value)
        Values.
    positions : array of int, shape (n_batch, n_key)
        Position of every key in the text of its row; -1 for padding.
    n_seen : array of int, shape (n_batch,)
        The length of every row's past, remembered or not: the position of its next token.
    window : int or None
        A query sees so many positions, itself among them; keys that no query will see again are forgotten.
    n_sink : int
        So many of the first positions are seen, and remembered, for ever.

    References
    ----------
    Xiao et al. (2023), "Efficient Streaming Language Models with Attention Sinks", arXiv:2309.17453, section 3.2.
    """

    k: Any
    v: Any
    positions: Any
    n_seen: Any
    window: int | None = None
    n_sink: int = 0


def empty_cache(n_batch, n_kv_head, d_head, *, like, d_value=None, window=None, n_sink=0):
    """Remember nothing yet.

    Parameters
    ----------
    n_batch, n_kv_head, d_head : int
        Sizes of the keys.
    like : array
        Any array of the library and dtype of the keys.
    d_value : int, optional
        Size of the values; by default that of the keys.
    window : int, optional
        How many positions a query sees, itself among them; by default all.
    n_sink : int, optional
        How many of the first positions are seen for ever, whatever the window.

    Returns
    -------
    KeyValueCache
        With no keys.

    Raises
    ------
    ValueError
        If the window is not positive, or the number of sinks negative.
    """
    xp = array_namespace(like)
    check_setting("window", window, window is None or window > 0, "at least 1")
    check_setting("n_sink", n_sink, n_sink >= 0, "at least 0")
    sizes = (d_head, d_head if d_value is None else d_value)
    k, v = (cast(xp.zeros((n_batch, n_kv_head, 0, size), dtype=xp.float32), like.dtype) for size in sizes)
    return KeyValueCache(
        k=k,
        v=v,
        positions=xp.zeros((n_batch, 0), dtype=xp.int64),
        n_seen=xp.zeros((n_batch,), dtype=xp.int64),
        window=window,
        n_sink=n_sink,
    )


def append(past, k, v, *, is_token=None):
    """Append keys and values, after forgetting what these and later queries will not see.

    Parameters
    ----------
    past : KeyValueCache
        What is remembered.
    k : array, shape (n_batch, n_kv_head, n_new, d_head)
        Keys.
    v : array, shape (n_batch, n_kv_head, n_new, d_value)
        Values.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding, which may stand anywhere and hold anything.

    Returns
    -------
    KeyValueCache
        The longer cache.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If dtypes or libraries differ, or `is_token` is not boolean.
    """
    xp = array_namespace(past.k, k, v, is_token)
    check_new(k, v, old_k=past.k, old_v=past.v, n_batch=past.k.shape[0])
    new = next_positions(past.n_seen, k.shape[2], is_token=is_token)
    kept = past if past.window is None else _without(past, _is_behind(past.positions, past.n_seen[:, None], past))
    return replace(
        past,
        k=xp.concatenate([kept.k, k], axis=2),
        v=xp.concatenate([kept.v, v], axis=2),
        positions=xp.concatenate([kept.positions, new], axis=1),
        n_seen=past.n_seen + xp.sum((new >= 0).astype(xp.int64), axis=1),
    )


def rewind(past, n):
    """Take the last tokens back, as speculative decoding does with those that were rejected.

    Parameters
    ----------
    past : KeyValueCache
        What is remembered.
    n : int or array of int, shape (n_batch,)
        How many, for all rows or for each.

    Returns
    -------
    KeyValueCache
        As if these tokens had never come.

    Raises
    ------
    ValueError
        If there are not so many, or the window before them is forgotten.  What was last appended can always be
        taken back.
    """
    xp = array_namespace(past.k)
    n_seen = past.n_seen - checked_counts(n, past.n_seen)
    if past.window is not None:
        n_kept = xp.sum((past.positions >= past.n_sink).astype(xp.int64), axis=1)
        oldest_kept = past.n_seen - n_kept
        is_lost = (n_seen > past.n_sink) & (oldest_kept > past.n_sink) & (oldest_kept > n_seen - past.window + 1)
        n_lost = int(xp.sum(is_lost.astype(xp.int64), axis=0))
        check_setting("n", n, n_lost == 0, f"small enough for a window of {past.window} to be remembered")
    return replace(_without(past, past.positions >= n_seen[:, None]), n_seen=n_seen)


def reorder(past, rows):
    """Let every row go on from the past of some row, as beam search asks after each step.

    Parameters
    ----------
    past : KeyValueCache
        What is remembered.
    rows : array of int, shape (n_new_batch,)
        For every new row, the row whose past it takes; a row may be taken many times, or never.

    Returns
    -------
    KeyValueCache
        The cache of the new rows.

    Raises
    ------
    ValueError
        If there is no such row.
    TypeError
        If the rows are not integers.
    """
    array_namespace(past.k, rows)
    check_shape("rows", rows, (None,))
    check_ids("rows", rows, past.k.shape[0])
    return replace(past, k=past.k[rows], v=past.v[rows], positions=past.positions[rows], n_seen=past.n_seen[rows])


def fork(past, n):
    """Let every row go on in several ways.

    Parameters
    ----------
    past : KeyValueCache
        What is remembered.
    n : int
        How many.

    Returns
    -------
    KeyValueCache
        Of n_batch * n rows: the first row n times, then the second, and so on.
    """
    return reorder(past, forked_rows(past.n_seen, n))


def cache_mask(past, query_positions):
    """Say which keys a query sees: none after it, none before its window but the sinks, and no padding.

    Parameters
    ----------
    past : KeyValueCache
        What is remembered.
    query_positions : array of int, shape (n_batch, n_query)
        Where the queries stand; -1 for padding, which sees nothing.

    Returns
    -------
    array of bool, shape (n_batch, 1, n_query, n_key)
        True where a query attends to a key.
    """
    array_namespace(past.positions, query_positions)
    check_shape("query_positions", query_positions, (past.n_seen.shape[0], None))
    queries, keys = query_positions[:, None, :, None], past.positions[:, None, None, :]
    seen = (keys >= 0) & (keys <= queries)
    return seen if past.window is None else seen & ~_is_behind(keys, queries, past)


def cache_places(past):
    """Count the keys that are remembered, whatever was forgotten between them.

    Parameters
    ----------
    past : KeyValueCache
        What is remembered.

    Returns
    -------
    array of int, shape (n_batch, n_key)
        The place of every key among those of its row; -1 for padding.

    Notes
    -----
    StreamingLLM keeps keys that are not rotated, and rotates them by these numbers whenever they are read: so no
    distance is longer than any seen in training.
    """
    xp = array_namespace(past.positions)
    is_token = past.positions >= 0
    return xp.where(is_token, xp.cumsum(is_token.astype(xp.int64), axis=1) - 1, -1)


def _is_behind(keys, queries, past):
    """Say which keys lie before the window of a query, and are no sinks."""
    return (keys <= queries - past.window) & (keys >= past.n_sink)


def _without(past, forgotten):
    """Make padding of what is forgotten, and drop what is padding in every row."""
    xp = array_namespace(past.positions)
    positions = xp.where(forgotten, -1, past.positions)
    some = xp.any(positions >= 0, axis=0)
    return replace(past, k=past.k[:, :, some], v=past.v[:, :, some], positions=positions[:, some])
