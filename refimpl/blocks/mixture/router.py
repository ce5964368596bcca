"""The router of a mixture of experts: which experts a token goes to, and how much each of them counts."""

from refimpl.arrays import array_namespace, check_choice, check_gradients, check_setting, integer
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.mixture.largest import largest
from refimpl.blocks.mixture.noisy_logits import noisy_logits
from refimpl.layers.softmax import softmax

SOFTMAX_OVER = ("all", "chosen")


def router(x, noise, params, *, n_chosen, softmax_over="chosen"):
    """Choose experts for every token, and weigh them.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Tokens.
    noise : array, shape (..., n_expert), or None
        As for `noisy_logits`.
    params : dict of array
        ``weight`` (n_expert, d_model), and optionally ``bias`` and ``noise.weight``: see `noisy_logits`.
    n_chosen : int
        How many experts a token goes to, at most n_expert.
    softmax_over : {"all", "chosen"}, optional
        Where the weights sum to 1: over all experts, before the best are chosen (Switch, Qwen2Moe), or over those that
        are chosen (Mixtral).

    Returns
    -------
    y : tuple of array, each of shape (..., n_expert)
        The weights, 0 for experts that are not chosen; and the logits.
    pullback : callable
        Maps ``(dweights, dlogits)``, of which the second may be None (0), to ``(dx, dnoise, dparams)``,
        without dnoise where there is no noise.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The softmax over the chosen is the softmax over all, divided by what the chosen have of it: Mixtral computes the
    latter, as Qwen2Moe does with ``norm_topk_prob``.  The choice itself has no gradient; so a single expert, which over
    the chosen always has weight 1, is refused: the router would never learn.

    References
    ----------
    Shazeer et al. (2017), "Outrageously Large Neural Networks", arXiv:1701.06538, eq. 3 to 5 (over the chosen).
    Fedus, Zoph, Shazeer (2021), "Switch Transformers", arXiv:2101.03961, eq. 1 and 2 (over all).
    """
    xp = array_namespace(x, noise, params)
    check_choice("softmax_over", softmax_over, SOFTMAX_OVER)
    logits, logits_pullback = noisy_logits(x, noise, params)
    integer("n_chosen", n_chosen, at_least=1, below=logits.shape[-1] + 1)
    learns = n_chosen > 1 or softmax_over == "all"
    check_setting("softmax_over", softmax_over, learns, "all, for the only one chosen has weight 1 and teaches nothing")
    chosen = largest(logits, n_chosen)
    probs, softmax_pullback = softmax(logits, mask=chosen if softmax_over == "chosen" else None)
    weights = xp.where(chosen, probs, 0.0)

    def pullback(dy):
        check_gradients(dy, (probs, logits), none=(1,))
        dweights, dlogits_here = dy
        (dlogits,) = softmax_pullback(xp.where(chosen, dweights, 0.0))
        return logits_pullback(add_gradients(dlogits, dlogits_here))

    return (weights, logits), pullback

