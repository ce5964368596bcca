"""The perceiver resampler: any number of features in, a fixed number of vectors out (Alayrac et al. 2022, figure 5)."""

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
from refimpl.attention.multi_head import cross_attention
from refimpl.blocks.encoder import stack
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.layer_norm import layer_norm
from refimpl.positions.learned import learned_positions

BLOCK_PARTS = ("norm_features.", "norm_latents.", "cross_attn.", "norm_feed.")
FEED = ("linear1.", "linear2.")
TIMES = "times.weight"
LATENTS = "latents"


def perceiver_block(latents, features, params, *, n_head, activation="squared_relu", eps=1e-5):
    """Let the latents attend to the features and to each other, and feed them forward.

    Parameters
    ----------
    latents : array, shape (n_batch, n_latent, d_model)
        What gathers.
    features : array, shape (n_batch, n_feature, d_model)
        What is gathered.
    params : dict of array
        ``norm_features.*``, ``norm_latents.*``, ``norm_feed.*`` (see `layer_norm`), ``cross_attn.*`` (see
        `multi_head_attention`), ``linear1.*`` and ``linear2.*`` (see `feed_forward`).
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of all layer norms.

    Returns
    -------
    y : array, shape (n_batch, n_latent, d_model)
        The new latents.
    pullback : callable
        Maps dy to ``(dlatents, dfeatures, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    References
    ----------
    Alayrac et al. (2022), "Flamingo", arXiv:2204.14198, figure 5; Jaegle et al. (2021), "Perceiver", arXiv:2103.03206.
    """
    xp = array_namespace(latents, features, params)
    check_scopes(params, (*BLOCK_PARTS, *FEED))
    check_floating(latents=latents, features=features, params=params)
    check_shape("latents", latents, (None, None, None))
    check_shape("features", features, (latents.shape[0], None, latents.shape[2]))
    feed = {key: params[key] for key in params if key.startswith(FEED)}
    n_feature = features.shape[1]
    normed, norm_pullback = layer_norm(latents, scope(params, "norm_latents."), eps=eps)
    normed_features, features_pullback = layer_norm(features, scope(params, "norm_features."), eps=eps)
    asked = xp.concatenate([normed_features, normed], axis=1)
    gathered, attention_pullback = cross_attention(normed, asked, scope(params, "cross_attn."), n_head=n_head)
    mid = latents + gathered
    normed_mid, feed_norm_pullback = layer_norm(mid, scope(params, "norm_feed."), eps=eps)
    fed, feed_pullback = feed_forward(normed_mid, feed, activation=activation)
    y = mid + fed

    def pullback(dy):
        dnormed_mid, dfeed = feed_pullback(dy)
        dmid_normed, dfeed_norm = feed_norm_pullback(dnormed_mid)
        dmid = dy + dmid_normed  # the residual branch and the feed-forward branch
        dasking, dasked, dattention = attention_pullback(dmid)
        dfeatures, dfeatures_norm = features_pullback(dasked[:, :n_feature])
        dlatents, dlatents_norm = norm_pullback(dasking + dasked[:, n_feature:])
        dparts = zip(BLOCK_PARTS, (dfeatures_norm, dlatents_norm, dattention, dfeed_norm), strict=True)
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts), dfeed)
        return dmid + dlatents, dfeatures, keyed_as(dparams, params)

    return y, pullback


def perceiver_resampler(features, params, *, n_layer, n_head, activation="squared_relu", eps=1e-5):
    """Make of the features of an image or film, however many there are, the same number of vectors.

    Parameters
    ----------
    features : array, shape (n_batch, n_time, n_patch, d_model)
        Features of every patch at every time; a single image has one time.
    params : dict of array
        ``latents`` (n_latent, d_model), which are learned; ``times.weight`` (most times, d_model; see
        `learned_positions`), ``layers.{i}.*`` (see `perceiver_block`) and ``norm.*`` (see `layer_norm`).
    n_layer : int
        The number of blocks.
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward networks.
    eps : float, optional
        The eps of all layer norms.

    Returns
    -------
    y : array, shape (n_batch, n_latent, d_model)
        The vectors.
    pullback : callable
        Maps dy to ``(dfeatures, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    Patches have no positions of their own: the network that made the features knows them.

    References
    ----------
    Alayrac et al. (2022), "Flamingo", arXiv:2204.14198, section 2.1 and figure 5.
    """
    xp = array_namespace(features, params)
    check_scopes(params, (LATENTS, "times.", "layers.", "norm."))
    check_params({key: params[key] for key in params if key.startswith((LATENTS, "times."))}, [LATENTS, TIMES])
    check_floating(features=features, params=params)
    check_shape("features", features, (None, None, None, None))
    n_batch, n_time, n_patch, d_model = features.shape
    check_shape("latents", params[LATENTS], (None, d_model))
    by_patch = xp.swapaxes(features, 1, 2)  # (n_batch, n_patch, n_time, d_model)
    timed, times_pullback = learned_positions(by_patch, scope(params, "times."))
    flat = xp.reshape(timed, (n_batch, n_patch * n_time, d_model))
    latents = params[LATENTS] + xp.zeros_like(flat[:, :1, :1])
    states, stack_pullback = stack(
        latents, (flat,), {key: params[key] for key in params if key not in (LATENTS, TIMES)}, n_layer=n_layer,
        block=perceiver_block, norm=layer_norm, n_head=n_head, activation=activation, eps=eps,
    )  # fmt: skip
    y = states[-1]

    def pullback(dy):
        dlatents, (dflat,), dblocks = stack_pullback((*[None] * (n_layer - 1), dy))
        dby_patch, dtimes = times_pullback(xp.reshape(dflat, timed.shape))
        dparams = merge({LATENTS: xp.sum(dlatents, axis=0)}, add_prefix("times.", dtimes), dblocks)
        return xp.swapaxes(dby_patch, 1, 2), keyed_as(dparams, params)

    return y, pullback
