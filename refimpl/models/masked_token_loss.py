"""The loss of masked language modelling with tied logits (Devlin et al. 2018, arXiv:1810.04805, section 3.1)."""

from refimpl.arrays import array_namespace, check_ids, check_shape, scatter_add
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.linear import linear


def masked_token_loss(x, positions, targets, params):
    """Measure how well hidden states tell the tokens that were masked, in nats per token.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        Hidden states of sequences some of whose tokens were replaced.
    positions : array of int, shape (n_masked,)
        Where: positions in the batch laid end to end, in [0, n_batch * n_seq).
    targets : array of int, shape (n_masked,)
        The tokens that stood there.
    params : dict of array
        ``weight`` (vocab_size, d_model), such as the table of token embeddings, and optionally ``bias``
        (vocab_size,): see `linear`.

    Returns
    -------
    y : array, shape ()
        The mean cross-entropy of ``x[positions] W' + b`` and the targets.
    pullback : callable
        Maps dy to ``(dx, dparams)``; hidden states of tokens that were not masked have gradient 0.

    Raises
    ------
    ValueError
        If a shape, a position, a target or a parameter name does not fit.
    TypeError
        If `x` is not floating, or positions or targets are not integers.

    Notes
    -----
    Only masked positions are scored, for scoring all of them costs ``n_seq * vocab_size`` logits each.
    `transformers` scores all and leaves out those whose label is -100.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 3.1, task 1; Press, Wolf (2017), "Using the Output
    Embedding to Improve Language Models", arXiv:1608.05859.
    """
    xp = array_namespace(x, positions, targets, params)
    check_shape("x", x, (None, None, None))
    check_shape("positions", positions, (None,))
    n_batch, n_seq, d_model = x.shape
    check_ids("positions", positions, n_batch * n_seq)
    chosen = xp.reshape(x, (n_batch * n_seq, d_model))[positions]  # (n_masked, d_model)
    logits, linear_pullback = linear(chosen, params)
    y, loss_pullback = cross_entropy(logits, targets)

    def pullback(dy):
        (dlogits,) = loss_pullback(dy)
        dchosen, dparams = linear_pullback(dlogits)
        dx = xp.reshape(scatter_add(positions, dchosen, n_batch * n_seq), x.shape)
        return dx, dparams

    return y, pullback
