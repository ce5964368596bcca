"""CLIP: an encoder of images and one of texts, trained to put what belongs together in one direction."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_scopes,
    keyed_as,
    merge,
    pick,
    scope,
)
from refimpl.blocks.contrast import contrast
from refimpl.models.clip.image import clip_image
from refimpl.models.clip.text import clip_text

TOWERS = ("image.", "text.")
TEMPERATURE = "logit_scale"


def clip(images, token_ids, params, *, config, mask=None):
    """Score every text of a batch for every image, and measure how surprising the right pairs are.

    Parameters
    ----------
    images : array, shape (n_batch, n_channel, image_size, image_size)
        Images.
    token_ids : array of int, shape (n_batch, n_seq)
        The text that belongs to each image.
    params : dict of array
        ``image.*`` (see `clip_image`), ``text.*`` (see `clip_text`) and ``logit_scale`` () (see `contrast`).
    config : ClipConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding.

    Returns
    -------
    y : tuple of array, shapes () and (n_batch, n_batch)
        The loss, in nats, and the logits of every text (rows) for every image.
    pullback : callable
        Maps ``(dloss, dlogits)`` to ``(dimages, dparams)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Radford et al. (2021), "Learning Transferable Visual Models From Natural Language Supervision", arXiv:2103.00020,
    figure 3.
    """
    array_namespace(images, token_ids, params, mask)
    check_scopes(params, (*TOWERS, TEMPERATURE))
    check_params(pick(params, TEMPERATURE), [TEMPERATURE])
    check_floating(images=images, params=params)
    (*image_states, of_images), image_pullback = clip_image(images, scope(params, "image."), config=config)
    (*text_states, of_texts), text_pullback = clip_text(token_ids, scope(params, "text."), config=config, mask=mask)
    y, contrast_pullback = contrast(of_images, of_texts, pick(params, TEMPERATURE))

    def pullback(dy):
        dof_images, dof_texts, dtemperature = contrast_pullback(dy)
        (dtext,) = text_pullback((*[None] * len(text_states), dof_texts))
        dimages, dimage = image_pullback((*[None] * len(image_states), dof_images))
        dparams = merge(add_prefix("image.", dimage), add_prefix("text.", dtext), dtemperature)
        return dimages, keyed_as(dparams, params)

    return y, pullback
