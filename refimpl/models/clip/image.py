"""CLIP's encoder of images, a vision Transformer: what it makes of an image is one vector."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_shape,
    check_shapes,
    keyed_as,
    merge,
    pick,
    scope,
)
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.blocks.encoder_block import pre_norm_block
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.layers.patches import patches
from refimpl.models.clip.config import ClipConfig
from refimpl.positions.learned import learned_positions

SCOPES = ("patch.", "position.", "pre_norm.", "norm.", "projection.")
PARTS = ("class", *SCOPES, "layers.")
KEYS = ("class", "patch.weight", "position.weight", "projection.weight")


def clip_image(images, params, *, config):
    """Read images as rows of patches, with a place before them where the whole is summed up.

    Parameters
    ----------
    images : array, shape (n_batch, n_channel, image_size, image_size)
        Images.
    params : dict of array
        ``class`` (d_model,), ``patch.weight`` (see `patches`), ``position.weight`` (n_patch + 1, d_model),
        ``pre_norm.*`` and ``norm.*`` (see `layer_norm`), ``layers.{i}.*`` (see `pre_norm_block`) and
        ``projection.weight`` (d_shared, d_model).
    config : ClipConfig
        The model's sizes and settings.

    Returns
    -------
    y : tuple of array
        The embedded patches and what each block makes of them, shape (n_batch, n_patch + 1, d_model) each, and the
        vectors of the images, shape (n_batch, d_shared).
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dimages, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.

    Notes
    -----
    ``pre_norm`` is ``pre_layrnorm`` of Hugging Face, and ``norm``, of the first place alone, ``post_layernorm``.

    References
    ----------
    Radford et al. (2021), arXiv:2103.00020, section 2.4; Dosovitskiy et al. (2020), arXiv:2010.11929, section 3.1.
    """
    xp = array_namespace(images, params)
    check_setting("config", config, isinstance(config, ClipConfig), "a ClipConfig")
    check_scopes(params, PARTS)
    d, side = config.image.d_model, config.patch_size
    shapes = ((d,), (d, config.n_channel, side, side), (config.n_patch + 1, d), (config.d_shared, d))
    check_shapes(pick(params, *KEYS), dict(zip(KEYS, shapes, strict=True)))
    check_floating(images=images, params=params)
    check_shape("images", images, (None, config.n_channel, config.image_size, config.image_size))
    cut, patch_pullback = patches(images, scope(params, "patch."))
    first = params["class"] + xp.zeros_like(cut[:, :1])
    placed, position_pullback = learned_positions(xp.concatenate([first, cut], axis=1), scope(params, "position."))
    embedded, pre_norm_pullback = layer_norm(placed, scope(params, "pre_norm."), eps=config.image.norm_eps)
    states, encoder_pullback = encoder(embedded, blocks_of(params), block=pre_norm_block, **settings_of(config.image))
    normed, norm_pullback = layer_norm(states[-1][:, 0], scope(params, "norm."), eps=config.image.norm_eps)
    y, projection_pullback = linear(normed, scope(params, "projection."))

    def pullback(dy):
        check_gradients(dy, (embedded, *states, y), none=range(len(states) + 1))
        dnormed, dprojection = projection_pullback(dy[-1])
        dfirst, dnorm = norm_pullback(dnormed)
        dlast = xp.pad(dfirst[:, None], ((0, 0), (0, config.n_patch), (0, 0)), mode="constant")
        dembedded, dlayers = encoder_pullback((*dy[1:-2], add_gradients(dy[-2], dlast)))
        dplaced, dpre_norm = pre_norm_pullback(add_gradients(dy[0], dembedded))
        dboth, dposition = position_pullback(dplaced)
        dimages, dpatch = patch_pullback(dboth[:, 1:])
        dparts = zip(SCOPES, (dpatch, dposition, dpre_norm, dnorm, dprojection), strict=True)
        dothers = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts))
        dparams = merge({"class": xp.sum(dboth[:, 0], axis=0)}, dlayers, dothers)
        return dimages, keyed_as(dparams, params)

    return (embedded, *states, y), pullback


def blocks_of(params):
    """Select the parameters of the blocks.

    Parameters
    ----------
    params : dict of array
        As for `clip_image` or `clip_text`.

    Returns
    -------
    dict of array
        Those of `encoder`.
    """
    return {key: value for key, value in params.items() if key.startswith("layers.")}


def settings_of(tower):
    """List the settings of `encoder` that a configuration settles.

    Parameters
    ----------
    tower : TowerConfig
        The sizes and settings of an encoder.

    Returns
    -------
    dict
        Keyword arguments.
    """
    return {
        "n_layer": tower.n_layer, "n_head": tower.n_head, "activation": tower.activation, "eps": tower.norm_eps,
    }  # fmt: skip
