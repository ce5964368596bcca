"""Transformer-XL over a text longer than its segment, with the memory carried on (Dai et al. 2019, section 3.2)."""

from refimpl.arrays import array_namespace, check_gradients, check_setting, check_shape, integer
from refimpl.blocks.encoder import add_gradients
from refimpl.models.transformer_xl.heads import transformer_xl_loss


def transformer_xl_segments(
    token_ids, targets, memory, params, *, config, n_segment, through_memory=False, ignore_index=-100
):
    """Measure how surprising a long text is, segment by segment.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        The text.
    targets : array of int, shape (n_batch, n_seq)
        The token after each, or `ignore_index`.
    memory : array, shape (n_layer, n_batch, n_before, d_model)
        What is remembered of what came before the text.
    params : dict of array
        As for `transformer_xl_lm`.
    config : TransformerXLConfig
        The model's sizes and settings.
    n_segment : int
        The length of a segment; the last one may be shorter.
    through_memory : bool, optional
        Whether the gradient goes through the memory into earlier segments.  As published it does not.
    ignore_index : int, optional
        Targets of this value do not count.

    Returns
    -------
    y : tuple of array, each of shape ()
        The mean loss of each segment.
    pullback : callable
        Maps a tuple of as many dy to ``(dmemory, dparams)``.  Unless it goes through the memory it is not the
        derivative of y.

    Raises
    ------
    ValueError
        If a shape, an id, a setting or a parameter name does not fit.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 3.2.
    """
    array_namespace(token_ids, targets, memory, params)
    integer("n_segment", n_segment, at_least=1)
    check_shape("token_ids", token_ids, (None, None))
    check_shape("targets", targets, token_ids.shape)
    check_setting("n_seq", token_ids.shape[1], token_ids.shape[1] > 0, "at least 1")
    losses, memories, pullbacks = [], [memory], []
    for start in range(0, token_ids.shape[1], n_segment):
        segment = slice(start, start + n_segment)
        (loss, remembered), loss_pullback = transformer_xl_loss(
            token_ids[:, segment], targets[:, segment], memories[-1], params, config=config, ignore_index=ignore_index
        )
        losses.append(loss)
        memories.append(remembered)
        pullbacks.append(loss_pullback)

    def pullback(dy):
        check_gradients(dy, losses)
        dmemory, dparams = None, {}
        for dloss, loss_pullback in zip(reversed(dy), reversed(pullbacks), strict=True):
            dmemory, dhere = loss_pullback((dloss, dmemory if through_memory else None))
            dparams = {key: add_gradients(dparams.get(key), dhere[key]) for key in params}
        return dmemory, dparams

    return tuple(losses), pullback
