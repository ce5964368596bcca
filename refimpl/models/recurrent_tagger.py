"""A bidirectional LSTM that names every element of a sequence (Graves & Schmidhuber 2005)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_scopes,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.embedding import embedding
from refimpl.layers.linear import linear
from refimpl.layers.relu import relu
from refimpl.recurrent.lstm import lstm

PARTS = ("embedding.", "lstm.", "logit_layer.0.", "logit_layer.2.")


def recurrent_tagger(token_ids, params, *, lengths=None):
    """Score the classes of every element, knowing what comes before and what comes after.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        The sequences, in [0, vocab_size).
    params : dict of array
        ``embedding.weight`` (vocab_size, d_model), ``lstm.*`` (see `lstm`; one layer, both directions), and the two
        maps ``logit_layer.0.*`` and ``logit_layer.2.*`` (see `linear`), with a ReLU between them.
    lengths : array of int, shape (n_batch,), optional
        Where each sequence ends; by default at n_seq.

    Returns
    -------
    y : array, shape (n_batch, n_seq, n_class)
        The scores.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    TypeError
        If the ids are not integers, or the parameters not floating, of one dtype and one library.

    Notes
    -----
    With ``logit_layer = torch.nn.Sequential(Linear, ReLU, Linear)`` these are the keys of g2pM, which tells how a
    Chinese character is pronounced in its sentence.

    References
    ----------
    Graves, Schmidhuber (2005), "Framewise phoneme classification with bidirectional LSTM", Neural Networks 18, 602.
    Park, Lee (2020), "g2pM", arXiv:2004.03136.
    """
    xp = array_namespace(token_ids, params, lengths)
    check_scopes(params, PARTS)
    required = ["embedding.weight", "logit_layer.0.weight", "logit_layer.2.weight"]
    recurrent = [key for key in params if key.startswith("lstm.")]
    check_params(params, required, ["logit_layer.0.bias", "logit_layer.2.bias", *recurrent])
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    embedded, embedding_pullback = embedding(token_ids, scope(params, "embedding."))
    (read, h_last, c_last), lstm_pullback = lstm(
        embedded, None, None, scope(params, "lstm."), bidirectional=True, lengths=lengths
    )
    wide, wide_pullback = linear(read, scope(params, "logit_layer.0."))
    bent, bend_pullback = relu(wide)
    y, out_pullback = linear(bent, scope(params, "logit_layer.2."))

    def pullback(dy):
        dbent, dout = out_pullback(dy)
        (dwide,) = bend_pullback(dbent)
        dread, dinner = wide_pullback(dwide)
        # Nobody has looked at the last states.
        dembedded, dlstm = lstm_pullback((dread, xp.zeros_like(h_last), xp.zeros_like(c_last)))
        (dembedding,) = embedding_pullback(dembedded)
        parts = zip(PARTS, (dembedding, dlstm, dinner, dout), strict=True)
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in parts))
        return (keyed_as(dparams, params),)

    return y, pullback
