"""The encoder block of Longformer: BERT's, with attention to a band and to a few global tokens."""

from refimpl.arrays import add_prefix, check_params, keyed_as, merge, pick, scope
from refimpl.attention.sparse.longformer import GLOBAL, LOCAL, longformer_attention
from refimpl.blocks.feed_forward import FEED_KEYS, feed_forward
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear

PARTS = (*(f"self_attn.{name}" for name in (*LOCAL, *GLOBAL)), "self_attn.out_proj", "linear1", "linear2")
NORMS = ("norm1", "norm2")


def longformer_block(x, global_ids, params, *, n_head, reach, activation="gelu", eps=1e-12, mask=None):
    """Attend to neighbours and global tokens, and feed forward, normalising after each residual sum.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    global_ids : array of int, shape (n_batch, n_global)
        The positions of the global tokens, see `longformer_attention`.
    params : dict of array
        ``self_attn.query.*`` and so on (see `longformer_attention`), ``self_attn.out_proj.*`` (see `linear`),
        ``linear1.*``, ``linear2.*`` (see `feed_forward`), ``norm1.*``, ``norm2.*`` (see `layer_norm`).
    n_head : int
        The number of heads.
    reach : int
        How many neighbours a token sees to each side.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of both layer norms.
    mask : array of bool, shape (n_batch, 1, 1, n_seq), optional
        As for `longformer_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    References
    ----------
    Beltagy, Peters, Cohan (2020), "Longformer", arXiv:2004.05150, section 3.
    """
    check_params(
        params, [f"{part}.weight" for part in (*PARTS, *NORMS)], [f"{part}.bias" for part in (*PARTS, *NORMS)]
    )
    attention = scope(params, "self_attn.")
    gathered, attention_pullback = longformer_attention(
        x, global_ids, {key: attention[key] for key in attention if not key.startswith("out_proj.")}, n_head=n_head,
        reach=reach, mask=mask,
    )  # fmt: skip
    attended, out_pullback = linear(gathered, scope(attention, "out_proj."))
    mid, norm1_pullback = layer_norm(x + attended, scope(params, "norm1."), eps=eps)
    fed, feed_pullback = feed_forward(mid, pick(params, *FEED_KEYS), activation=activation)
    y, norm2_pullback = layer_norm(mid + fed, scope(params, "norm2."), eps=eps)

    def pullback(dy):
        dsum2, dnorm2 = norm2_pullback(dy)
        dmid_fed, dfeed = feed_pullback(dsum2)
        dsum1, dnorm1 = norm1_pullback(dsum2 + dmid_fed)
        dgathered, dout = out_pullback(dsum1)
        dx_attended, dattention = attention_pullback(dgathered)
        dself = add_prefix("self_attn.", merge(dattention, add_prefix("out_proj.", dout)))
        dparams = merge(dself, dfeed, add_prefix("norm1.", dnorm1), add_prefix("norm2.", dnorm2))
        return dsum1 + dx_attended, keyed_as(dparams, params)

    return y, pullback
