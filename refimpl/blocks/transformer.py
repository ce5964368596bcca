"""The Transformer: an encoder that reads, and a decoder that writes and asks it (Vaswani et al. 2017, figure 1)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_gradients,
    check_scopes,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.mask import check_mask
from refimpl.blocks.decoder_block import post_norm_decoder_block, pre_norm_decoder_block
from refimpl.blocks.encoder import add_gradients, stack
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.layers.layer_norm import layer_norm

PARTS = ("encoder.", "decoder.")


def transformer(
    source, target, params, *, n_layer, n_decoder_layer, n_head, n_decoder_head=None, norm_first=False,
    activation="relu", eps=1e-5, mask=None, target_mask=None, memory_mask=None,
):  # fmt: skip
    """Read the embedded source, and write the target while asking what was read.

    Parameters
    ----------
    source : array, shape (n_batch, n_source, d_model)
        What is read, embedded.
    target : array, shape (n_batch, n_target, d_model)
        What is written, embedded.
    params : dict of array
        As `torch.nn.Transformer`: ``encoder.layers.{i}.*`` (see `post_norm_block`), ``decoder.layers.{i}.*`` (see
        `post_norm_decoder_block`), and optionally ``encoder.norm.*`` and ``decoder.norm.*``, of what the last block of
        each returns.
    n_layer, n_decoder_layer : int
        The numbers of blocks.
    n_head : int
        The number of heads.
    n_decoder_head : int, optional
        The number of heads of the decoder; by default `n_head`.
    norm_first : bool, optional
        Whether the blocks normalise before each part, not after.
    activation : str, optional
        The activation of the feed-forward networks.
    eps : float, optional
        The eps of all layer norms.
    mask : array of bool, optional
        As for `multi_head_attention`, among the positions of the source.
    target_mask : array of bool, optional
        The same for the target; `refimpl.attention.mask.causal_mask` belongs there.
    memory_mask : array of bool, optional
        The same from the target to the source; most often `mask`, if that is of padding.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_source or n_target, d_model)
        What each block of the encoder returns, then what each of the decoder returns; the last of each behind its norm.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dsource, dtarget, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    `torch.nn.Transformer` always has the two last norms, whether the blocks are pre-norm or not.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, figure 1.
    """
    array_namespace(source, target, params, mask, target_mask, memory_mask)
    check_scopes(params, PARTS)
    check_shape("source", source, (None, None, None))
    check_shape("target", target, (source.shape[0], None, source.shape[2]))
    check_mask(target_mask, (target.shape[0], n_decoder_head or n_head, *2 * target.shape[1:2]), name="target_mask")
    of_encoder, of_decoder = (scope(params, part) for part in PARTS)
    settings = {"activation": activation, "eps": eps}
    read, encoder_pullback = stack(
        source, (), of_encoder, n_layer=n_layer, n_head=n_head, mask=mask, norm=_norm_in(of_encoder),
        block=pre_norm_block if norm_first else post_norm_block, **settings,
    )  # fmt: skip
    written, decoder_pullback = stack(
        target, (read[-1],), of_decoder, n_layer=n_decoder_layer, n_head=n_decoder_head or n_head, mask=target_mask,
        memory_mask=memory_mask, norm=_norm_in(of_decoder),
        block=pre_norm_decoder_block if norm_first else post_norm_decoder_block, **settings,
    )  # fmt: skip

    def pullback(dy):
        check_gradients(dy, (*read, *written), none=range(len(read) + len(written) - 1))
        dread, dwritten = dy[:n_layer], dy[n_layer:]
        dtarget, (dmemory,), ddecoder = decoder_pullback(dwritten)
        dsource, _, dencoder = encoder_pullback((*dread[:-1], add_gradients(dread[-1], dmemory)))
        dparams = merge(add_prefix("encoder.", dencoder), add_prefix("decoder.", ddecoder))
        return dsource, dtarget, keyed_as(dparams, params)

    return (*read, *written), pullback


def _norm_in(params):
    return layer_norm if scope(params, "norm.") else None
