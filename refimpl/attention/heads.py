"""Features cut into heads, and back.  Each is the other's inverse and, being a permutation, the other's pullback."""

from refimpl.arrays import array_namespace


def split_heads(x, n_head):
    """Cut the features of every position into heads.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, n_head * d_head)
        Features, head after head.
    n_head : int
        The number of heads.

    Returns
    -------
    array, shape (n_batch, n_head, n_seq, d_head)
        The heads.
    """
    xp = array_namespace(x)
    n_batch, n_seq, d_model = x.shape
    return xp.swapaxes(xp.reshape(x, (n_batch, n_seq, n_head, d_model // n_head)), 1, 2)


def join_heads(heads):
    """Lay the heads of every position side by side.

    Parameters
    ----------
    heads : array, shape (n_batch, n_head, n_seq, d_head)
        The heads.

    Returns
    -------
    array, shape (n_batch, n_seq, n_head * d_head)
        The features.
    """
    xp = array_namespace(heads)
    n_batch, n_head, n_seq, d_head = heads.shape
    return xp.reshape(xp.swapaxes(heads, 1, 2), (n_batch, n_seq, n_head * d_head))
