"""What is done to the logits before one token is drawn: temperature, top-k, top-p, min-p.

Each filter finds for every row the smallest logit that is kept, and puts minus infinity for what lies below.  So
equal logits share their fate: what ties with the last token that is kept is kept as well.
"""

import math
from dataclasses import dataclass

from refimpl.arrays import array_namespace, integer, number
from refimpl.layers.softmax import softmax

COLDEST, HOTTEST = 2.0**-60, 2.0**100

def temperature(logits, *, temperature):
    """Sharpen the distribution, or flatten it.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    temperature : float
        Below 1 sharpens, above 1 flattens.  0 is the limit: the largest score alone is left, or those that are equal.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores divided by the temperature.

    Raises
    ------
    ValueError
        If it is negative.

    Notes
    -----
    Below 2**-60 and above 2**100 quotients leave the numbers of float32, and the limit stands in for them: the largest
    score, or all that are possible alike.  `transformers` refuses 0, and at 1e-300 draws from NaN.
    """
    xp = array_namespace(logits)
    temperature = number("temperature", temperature, at_least=0.0)
    if temperature < COLDEST:
        return xp.where(logits == xp.max(logits, axis=-1, keepdims=True), logits, -math.inf)
    if temperature > HOTTEST:
        return xp.where(logits > -math.inf, xp.zeros_like(logits), -math.inf)
    return logits / temperature


def top_k(logits, *, k):
    """Keep the k most probable tokens.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    k : int
        How many; more than there are keeps all.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores, minus infinity for the rest.

    Raises
    ------
    ValueError
        If k is no positive integer.

    References
    ----------
    Fan, Lewis, Dauphin (2018), "Hierarchical neural story generation", arXiv:1805.04833, section 5.4.
    """
    xp = array_namespace(logits)
    k = min(integer("k", k, at_least=1), logits.shape[-1])
    return _at_least(_sorted(logits)[:, k - 1 : k], logits, xp)


def top_p(logits, *, p):
    """Keep the smallest set of most probable tokens that has a probability of p: the token that crosses p is kept.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    p : float
        The probability, in [0, 1]; 0 keeps the most probable token, 1 keeps all.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores, minus infinity for the rest.

    Raises
    ------
    ValueError
        If p is no probability.

    References
    ----------
    Holtzman et al. (2019), "The curious case of neural text degeneration", arXiv:1904.09751, section 3.1.
    """
    xp = array_namespace(logits)
    p = number("p", p, at_least=0.0, at_most=1.0)
    if p == 1.0:
        return logits  # rounding must not cut off a tail whose probability is below that of the last bit
    largest_first = _sorted(logits)
    probabilities, _ = softmax(largest_first)
    up_to = xp.cumsum(probabilities, axis=-1)
    before = xp.concatenate([xp.zeros_like(up_to[:, :1]), up_to[:, :-1]], axis=-1)  # all that is more probable
    is_kept = (before < p) | (xp.arange(logits.shape[-1]) == 0)[None, :]
    smallest_kept = xp.min(xp.where(is_kept, largest_first, math.inf), axis=-1, keepdims=True)
    return _at_least(smallest_kept, logits, xp)


def min_p(logits, *, p):
    """Keep the tokens that are at least p times as probable as the most probable one.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    p : float
        The ratio, in [0, 1].

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores, minus infinity for the rest.

    Raises
    ------
    ValueError
        If p is no ratio.

    References
    ----------
    Nguyen et al. (2024), "Turning up the heat: min-p sampling", arXiv:2407.01082, section 3.
    """
    xp = array_namespace(logits)
    p = number("p", p, at_least=0.0, at_most=1.0)
    ratios = xp.exp(logits - xp.max(logits, axis=-1, keepdims=True))
    return xp.where(ratios >= p, logits, -math.inf)


@dataclass(frozen=True)
class Filters:
    """The filters of sampling, applied in this order; None leaves one out.

    Attributes
    ----------
    temperature : float
        See `temperature`.
    top_k : int or None
        See `top_k`.
    top_p : float or None
        See `top_p`.
    min_p : float or None
        See `min_p`.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Notes
    -----
    The order is that of `transformers`: temperature first, so that top-p and min-p see the sharpened distribution.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None

    def __post_init__(self):
        number("temperature", self.temperature, at_least=0.0)
        if self.top_k is not None:
            integer("top_k", self.top_k, at_least=1)
        for name in ("top_p", "min_p"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), at_least=0.0, at_most=1.0)

    def apply(self, logits):
        """Filter.

        Parameters
        ----------
        logits : array, shape (n_batch, vocab_size)
            Scores of the next token.

        Returns
        -------
        array, shape (n_batch, vocab_size)
            Scores whose softmax is what is drawn from.
        """
        if self.temperature != 1.0:
            logits = temperature(logits, temperature=self.temperature)
        if self.top_k is not None:
            logits = top_k(logits, k=self.top_k)
        if self.top_p is not None:
            logits = top_p(logits, p=self.top_p)
        if self.min_p is not None:
            logits = min_p(logits, p=self.min_p)
        return logits


def _sorted(logits):
    """Sort every row, the largest first."""
    xp = array_namespace(logits)
    order = xp.argsort(-logits, axis=-1)
    return logits[xp.arange(logits.shape[0])[:, None], order]


def _at_least(threshold, logits, xp):
    return xp.where(logits >= threshold, logits, -math.inf)
