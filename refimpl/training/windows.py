"""Windows of a long text: what a causal language model is trained on."""

from refimpl.arrays import array_namespace, asarray, check_setting, check_shape


def windows(token_ids, *, n_batch, n_seq, generator):
    """Cut random windows out of a text, and the same one token later.

    Parameters
    ----------
    token_ids : array of int, shape (n_token,)
        The text.
    n_batch : int
        How many windows.
    n_seq : int
        How long they are.
    generator : numpy.random.Generator
        Where the random numbers come from.

    Returns
    -------
    inputs : array of int, shape (n_batch, n_seq)
        The windows.
    targets : array of int, shape (n_batch, n_seq)
        The token after each of theirs.

    Raises
    ------
    ValueError
        If the text is too short for one window.
    """
    xp = array_namespace(token_ids)
    check_shape("token_ids", token_ids, (None,))
    n_start = token_ids.shape[0] - n_seq
    check_setting("token_ids", f"{token_ids.shape[0]} tokens", n_start > 0, f"longer than a window of {n_seq}")
    starts = asarray(generator.integers(0, n_start, n_batch), like=token_ids)
    places = starts[:, None] + xp.arange(n_seq)[None, :]
    return token_ids[places], token_ids[places + 1]
