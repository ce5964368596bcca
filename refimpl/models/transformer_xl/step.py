"""A Transformer-XL that goes on from what it has read: its memory is all that it needs."""

from refimpl.arrays import array_namespace, cast, check_boolean, check_ids, check_setting, check_shape, table_dtype
from refimpl.attention.mask import padding_mask
from refimpl.models.transformer_xl.config import TransformerXLConfig
from refimpl.models.transformer_xl.heads import transformer_xl_lm


def transformer_xl_step(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Score the token after each of the new ones, and remember them.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens: the whole prompt at first, then one at a time, or several.
    params : dict of array
        As for `transformer_xl_lm`.
    past : array, shape (n_layer, n_batch, n_before, d_model), or None
        The memory; None where nothing is remembered.
    config : TransformerXLConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_key), optional
        True for tokens, False for padding, of the whole text so far, the new ones last.
    position_ids : None
        Only distances count here, so that there are none to give.

    Returns
    -------
    logits : array, shape (n_batch, n_new, vocab_size)
        Log-probabilities.
    grown : array, shape (n_layer, n_batch, at most n_memory, d_model)
        What is remembered now; the old one still says what it said.

    Raises
    ------
    ValueError
        If a shape, an id, a setting or a parameter name does not fit.

    Notes
    -----
    What the memory has forgotten is not attended to, so a step sees less than the whole text does where that is longer
    than `n_memory`.
    """
    xp = array_namespace(token_ids, params, past, mask)
    check_setting("config", config, isinstance(config, TransformerXLConfig), "a TransformerXLConfig")
    check_setting("position_ids", position_ids, position_ids is None, "None: only distances count")
    check_shape("token_ids", token_ids, (None, None))
    n_batch, n_new = token_ids.shape
    like = next(iter(params.values()))
    nothing = xp.zeros((config.n_layer, n_batch, 0, config.d_model), dtype=table_dtype(like))
    memory = cast(nothing, like.dtype) if past is None else past
    seen = None if mask is None else padding_mask(_of_keys(mask, n_batch, memory.shape[2] + n_new))
    (logits, grown), _ = transformer_xl_lm(token_ids, memory, params, config=config, mask=seen)
    return logits, grown


def reorder_memory(past, rows):
    """Choose rows of the batch, as a beam search does.

    Parameters
    ----------
    past : array, shape (n_layer, n_batch, n_before, d_model)
        The memory.
    rows : array of int, shape (n_row,)
        The row that each new one goes on from; one may be chosen several times.

    Returns
    -------
    array, shape (n_layer, n_row, n_before, d_model)
        The memory of the new rows.

    Raises
    ------
    ValueError
        If a row is out of range.
    """
    array_namespace(past, rows)
    check_shape("past", past, (None, None, None, None))
    check_ids("rows", rows, past.shape[1])
    return past[:, rows]


def _of_keys(mask, n_batch, n_key):
    check_boolean(mask=mask)
    check_shape("mask", mask, (n_batch, None))
    check_setting("mask.shape[1]", mask.shape[1], mask.shape[1] >= n_key, f"at least {n_key}, memory and new tokens")
    return mask[:, mask.shape[1] - n_key :]
