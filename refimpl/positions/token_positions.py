"""Positions of tokens where a batch is padded."""

from refimpl.arrays import array_namespace, check_boolean, check_rank


def token_positions(is_token):
    """Count the tokens of every row, whichever side is padded.

    Parameters
    ----------
    is_token : array of bool, shape (..., n_seq)
        True for tokens, False for padding.

    Returns
    -------
    array of int, shape (..., n_seq)
        The position of every token among the tokens of its row.  Padding before the first token has position 0,
        padding behind a token has that token's.

    Raises
    ------
    ValueError
        If `is_token` has no axis.
    TypeError
        If `is_token` is not boolean.

    Notes
    -----
    Give them to `refimpl.positions.rotary.rotary` with an axis for the heads, ``positions[:, None, :]``, or as ids to
    an embedding of positions.  This is ``attention_mask.cumsum(-1) - 1``, clipped at 0, as in Hugging Face.
    """
    xp = array_namespace(is_token)
    check_boolean(is_token=is_token)
    check_rank("is_token", is_token, 1)
    counted = xp.cumsum(is_token.astype(xp.int64), axis=-1)
    return xp.where(counted > 0, counted - 1, 0)


def positions_after_padding(is_token, *, pad_id):
    """Count the tokens of every row from the row of the table that comes after padding's, as RoBERTa does.

    Parameters
    ----------
    is_token : array of bool, shape (..., n_seq)
        True for tokens, False for padding.
    pad_id : int
        The position of padding.

    Returns
    -------
    array of int, shape (..., n_seq)
        ``pad_id + 1, pad_id + 2, …`` for the tokens of every row, `pad_id` for padding, wherever it stands.

    Raises
    ------
    ValueError
        If `is_token` has no axis.
    TypeError
        If `is_token` is not boolean.
    """
    xp = array_namespace(is_token)
    check_boolean(is_token=is_token)
    check_rank("is_token", is_token, 1)
    counted = xp.cumsum(is_token.astype(xp.int64), axis=-1)
    return xp.where(is_token, counted, 0) + pad_id
