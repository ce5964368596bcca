"""The loss of a language model on windows of a text: how surprising every next token is."""

from refimpl.arrays import array_namespace
from refimpl.layers.cross_entropy import cross_entropy


def window_loss(lm, inputs, targets, params):
    """Run a language model on a batch, and its pullback.

    Parameters
    ----------
    lm : callable
        ``lm(token_ids, params) -> (logits, pullback)``, such as `gpt_lm` with its settings.
    inputs : array of int, shape (n_batch, n_seq)
        What it reads.
    targets : array of int, shape (n_batch, n_seq)
        The tokens that follow.
    params : dict of array
        Its parameters.

    Returns
    -------
    loss : array, shape ()
        The mean over all tokens, in nats.
    gradients : dict of array
        Its gradients, by parameter.
    """
    xp = array_namespace(inputs, targets, params)
    logits, lm_pullback = lm(inputs, params)
    loss, loss_pullback = cross_entropy(logits, targets)
    (dlogits,) = loss_pullback(xp.ones_like(loss))
    (gradients,) = lm_pullback(dlogits)
    return loss, gradients
