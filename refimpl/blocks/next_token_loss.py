"""The loss of causal language modelling: every token is to be told from those before it."""

from refimpl.arrays import array_namespace, check_ids, check_integers, check_shape
from refimpl.layers.cross_entropy import cross_entropy


def next_token_loss(logits, targets, *, ignore_index=-100):
    """Measure how well the logits at every position tell the token at the next, in nats per token.

    Parameters
    ----------
    logits : array, shape (n_batch, n_seq, vocab_size)
        Scores of the next token.
    targets : array of int, shape (n_batch, n_seq)
        The sequences themselves (``labels``), with `ignore_index` in place of tokens that do not count.
    ignore_index : int, optional
        Marks padding and whatever else is not to be learnt.

    Returns
    -------
    y : array, shape ()
        The mean cross-entropy of ``logits[:, :-1]`` and ``targets[:, 1:]``; 0 where there is nothing to tell.
    pullback : callable
        Maps dy to ``(dlogits,)``; nothing is known of what follows the last token, whose logits have gradient 0.

    Raises
    ------
    ValueError
        If a shape or a target does not fit.
    TypeError
        If the logits are not floating or the targets not integers.

    References
    ----------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", eq. 1.
    """
    xp = array_namespace(logits, targets)
    check_shape("logits", logits, (None, None, None))
    check_integers("targets", targets)
    check_shape("targets", targets, logits.shape[:2])
    # Nothing tells the first token, but it must be one.
    check_ids("targets", xp.where(targets == ignore_index, 0, targets), logits.shape[2])
    y, loss_pullback = cross_entropy(logits[:, :-1], targets[:, 1:], ignore_index=ignore_index)

    def pullback(dy):
        (dtold,) = loss_pullback(dy)
        n_untold = logits.shape[1] - dtold.shape[1]  # the last position, if there is any
        return (xp.pad(dtold, [(0, 0), (0, n_untold), (0, 0)], mode="constant"),)

    return y, pullback
