"""What a decoder reads while it is trained to write: its own target, one place behind."""

from refimpl.arrays import array_namespace, check_shape


def shifted_right(labels, *, start_id, pad_id, ignore_index=-100):
    """Put the start before the labels, and leave out the last of them.

    Parameters
    ----------
    labels : array of int, shape (n_batch, n_target)
        What should be written; `ignore_index` where the target has ended.
    start_id : int
        Token that every target begins with.
    pad_id : int
        Token that stands where the target has ended.
    ignore_index : int, optional
        As for `cross_entropy`.

    Returns
    -------
    array of int, shape (n_batch, n_target)
        What is read: position i holds the label of position i - 1.

    Raises
    ------
    ValueError
        If `labels` has not two axes.
    TypeError
        If the labels are not integers.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.1 ("offset by one position").
    """
    xp = array_namespace(labels)
    check_shape("labels", labels, (None, None))
    if labels.dtype.kind not in "iu":
        raise TypeError(f"labels must be an integer array, got dtype {labels.dtype}")
    read = xp.where(labels == ignore_index, pad_id, labels)
    return xp.concatenate([0 * read[:, :1] + start_id, read[:, :-1]], axis=1)
