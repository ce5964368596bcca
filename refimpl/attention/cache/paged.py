"""A key/value cache in blocks of fixed size, which rows share (Kwon et al. 2023, arXiv:2309.06180, section 4)."""

from dataclasses import dataclass
from typing import Any

from refimpl.arrays import array_namespace, cast, check_ids, check_setting, check_shape
from refimpl.attention.cache.key_value import KeyValueCache
from refimpl.attention.cache.rows import check_new, checked_counts, forked_rows, next_positions


@dataclass(frozen=True)
class PagedCache:
    """For every row, the blocks that hold its keys and values.

    To append copies the last block of a row at most; all others are shared with the old cache, and by the rows of a
    fork.  Nothing is padded in between, whatever the lengths of the rows.

    Attributes
    ----------
    tables : tuple of tuple
        For every row its blocks in order, each a pair of arrays of the shapes (n_kv_head, n_slot, d_head) and
        (n_kv_head, n_slot, d_value).  Slots beyond the length of a row hold anything.
    n_seen : array of int, shape (n_batch,)
        The length of every row's past.
    blank : tuple of array
        A block of zeros.

    References
    ----------
    Kwon et al. (2023), "Efficient Memory Management for Large Language Model Serving with PagedAttention",
    arXiv:2309.06180, section 4.
    """

    tables: tuple
    n_seen: Any
    blank: tuple


def empty_pages(n_batch, n_kv_head, d_head, *, like, n_slot, d_value=None):
    """Remember nothing yet.

    Parameters
    ----------
    n_batch, n_kv_head, d_head : int
        Sizes of the keys.
    like : array
        Any array of the library and dtype of the keys.
    n_slot : int
        The number of tokens that a block holds.
    d_value : int, optional
        Size of the values; by default that of the keys.

    Returns
    -------
    PagedCache
        With no blocks.

    Raises
    ------
    ValueError
        If blocks hold nothing.
    """
    xp = array_namespace(like)
    check_setting("n_slot", n_slot, n_slot > 0, "at least 1")
    sizes = (d_head, d_head if d_value is None else d_value)
    blank = tuple(cast(xp.zeros((n_kv_head, n_slot, size), dtype=xp.float32), like.dtype) for size in sizes)
    return PagedCache(((),) * n_batch, xp.zeros((n_batch,), dtype=xp.int64), blank)


def append_pages(pages, k, v, *, is_token=None):
    """Append keys and values.

    Parameters
    ----------
    pages : PagedCache
        What is remembered.
    k : array, shape (n_batch, n_kv_head, n_new, d_head)
        Keys.
    v : array, shape (n_batch, n_kv_head, n_new, d_value)
        Values.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding, which is not stored.

    Returns
    -------
    PagedCache
        The longer cache.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If dtypes or libraries differ, or `is_token` is not boolean.
    """
    xp = array_namespace(pages.n_seen, k, v, is_token)
    check_new(k, v, old_k=pages.blank[0], old_v=pages.blank[1], n_batch=len(pages.tables))
    new = next_positions(pages.n_seen, k.shape[2], is_token=is_token) >= 0
    tables = tuple(
        _longer(xp, table, int(pages.n_seen[i]), (k[i][:, new[i]], v[i][:, new[i]]), pages.blank)
        for i, table in enumerate(pages.tables)
    )
    return PagedCache(tables, pages.n_seen + xp.sum(new.astype(xp.int64), axis=1), pages.blank)


def rewind_pages(pages, n):
    """Take the last tokens back; blocks without a token are dropped.

    Parameters
    ----------
    pages : PagedCache
        What is remembered.
    n : int or array of int, shape (n_batch,)
        How many, for all rows or for each.

    Returns
    -------
    PagedCache
        As if these tokens had never come.

    Raises
    ------
    ValueError
        If there are not so many.
    """
    n_seen = pages.n_seen - checked_counts(n, pages.n_seen)
    n_slot = pages.blank[0].shape[1]
    tables = tuple(table[: -(-int(n_seen[i]) // n_slot)] for i, table in enumerate(pages.tables))
    return PagedCache(tables, n_seen, pages.blank)


def reorder_pages(pages, rows):
    """Let every row go on from the past of some row; no block is copied.

    Parameters
    ----------
    pages : PagedCache
        What is remembered.
    rows : array of int, shape (n_new_batch,)
        For every new row, the row whose past it takes; a row may be taken many times, or never.

    Returns
    -------
    PagedCache
        The cache of the new rows.

    Raises
    ------
    ValueError
        If there is no such row.
    TypeError
        If the rows are not integers.
    """
    array_namespace(pages.n_seen, rows)
    check_shape("rows", rows, (None,))
    check_ids("rows", rows, len(pages.tables))
    tables = tuple(pages.tables[int(rows[i])] for i in range(rows.shape[0]))
    return PagedCache(tables, pages.n_seen[rows], pages.blank)


def fork_pages(pages, n):
    """Let every row go on in several ways; no block is copied.

    Parameters
    ----------
    pages : PagedCache
        What is remembered.
    n : int
        How many.

    Returns
    -------
    PagedCache
        Of n_batch * n rows: the first row n times, then the second, and so on.
    """
    return reorder_pages(pages, forked_rows(pages.n_seen, n))


def gather_pages(pages):
    """Gather the blocks into what attention reads.

    Parameters
    ----------
    pages : PagedCache
        What is remembered.

    Returns
    -------
    KeyValueCache
        The same past; shorter rows are padded on the left.
    """
    xp = array_namespace(pages.n_seen)
    lengths = [int(pages.n_seen[i]) for i in range(len(pages.tables))]
    longest = max(lengths, default=0)
    rows = [
        [_padded(xp, part, longest) for part in _tokens(xp, table, length, pages.blank)]
        for table, length in zip(pages.tables, lengths, strict=True)
    ]
    places = xp.arange(longest)[None, :] - (longest - pages.n_seen[:, None])
    positions = xp.where(places >= 0, places, -1)
    # With a blank row in front, which is cut off again, there is something to stack even of no rows.
    blank_row = [_padded(xp, part[:, :0], longest) for part in pages.blank]
    k, v = (xp.stack(parts, axis=0)[1:] for parts in zip(blank_row, *rows, strict=True))
    return KeyValueCache(k, v, positions, pages.n_seen)


def _tokens(xp, table, length, blank):
    """Keys and values of a row, (n_kv_head, length, d), out of its blocks."""
    return [
        xp.concatenate([blank[part][:, :0], *(block[part] for block in table)], axis=1)[:, :length] for part in (0, 1)
    ]


def _longer(xp, table, length, new, blank):
    """Put new tokens after those of a row; full blocks are kept as they are."""
    n_slot = blank[0].shape[1]
    n_full = length // n_slot
    tail = _tokens(xp, table[n_full:], length - n_full * n_slot, blank)
    grown = [xp.concatenate([old, more], axis=1) for old, more in zip(tail, new, strict=True)]
    return table[:n_full] + tuple(
        tuple(_filled(xp, part[:, i : i + n_slot], zeros) for part, zeros in zip(grown, blank, strict=True))
        for i in range(0, grown[0].shape[1], n_slot)
    )


def _filled(xp, x, blank):
    """Put zeros after the tokens of a block."""
    return xp.concatenate([x, blank[:, x.shape[1] :]], axis=1)


def _padded(xp, x, n):
    """Put zeros before the tokens of a row, so that there are n in all."""
    return xp.pad(x, [(0, 0), (n - x.shape[1], 0), (0, 0)], mode="constant")
