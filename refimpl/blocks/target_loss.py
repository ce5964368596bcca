"""What models that read and write are trained with: every token of the target from those before it."""

from refimpl.arrays import array_namespace, check_gradients, check_shape
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.shift import shifted_right


def target_loss(source_ids, labels, params, *, lm, config, mask=None, label_smoothing=0.0):
    """Measure how surprising the target is, each token given the source and the tokens before it.

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read.
    labels : array of int, shape (n_batch, n_target)
        What should be written; -100 where the target has ended.
    params : dict of array
        Those of `lm`.
    lm : callable
        The model: ``lm(source_ids, target_ids, params, config=config, mask=mask)`` gives logits and a pullback.
    config : object
        The model's sizes and settings; its ``start_id`` begins every target, its ``pad_id`` stands where one has ended.
    mask : array of bool, shape (n_batch, n_source), optional
        True for tokens of the source, False for padding.
    label_smoothing : float, optional
        As for `cross_entropy`; 0.1 in the paper.

    Returns
    -------
    y : tuple of array, shapes () and (n_batch, n_target, vocab_size)
        The loss, in nats, averaged over the labels, and the logits.
    pullback : callable
        Maps ``(dloss, dlogits)``, of which the second may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    Notes
    -----
    As in `transformers`, where the target has ended the decoder reads the padding token, unmasked: what comes after a
    token cannot reach it.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.1 and 5.4.
    """
    array_namespace(source_ids, labels, params, mask)
    check_shape("labels", labels, (None, None))
    target_ids = shifted_right(labels, start_id=config.start_id, pad_id=config.pad_id)
    logits, lm_pullback = lm(source_ids, target_ids, params, config=config, mask=mask)
    loss, loss_pullback = cross_entropy(logits, labels, label_smoothing=label_smoothing)

    def pullback(dy):
        check_gradients(dy, (loss, logits), none=(1,))
        dloss, dlogits_here = dy
        (dlogits,) = loss_pullback(dloss)
        return lm_pullback(dlogits if dlogits_here is None else dlogits + dlogits_here)

    return (loss, logits), pullback
