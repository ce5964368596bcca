"""How rotary positions reach beyond the length that they were trained on: rules for the inverse frequencies.

A rule is a frozen setting that is called with the number of rotated features, the base, and one more than the largest
position: ``rule(d_rotary, base, n_position)``.  It returns the inverse frequencies, one Python float for each pair of
features, and the factor on cosines and sines.
"""

import math
from dataclasses import dataclass


def inverse_frequencies(d_rotary, base):
    """Space the rotations geometrically: the first pair turns by 1 radian a position, the last by about 1 / base.

    Parameters
    ----------
    d_rotary : int
        The number of rotated features, two to a pair.
    base : float
        The ratio of the slowest wavelength to the fastest.

    Returns
    -------
    list of float
        Radians by position, one for each pair: ``base ** (-2 i / d_rotary)``.
    """
    return [math.pow(base, -2.0 * i / d_rotary) for i in range(d_rotary // 2)]


@dataclass(frozen=True)
class Unscaled:
    """Rotate as published (Su et al. 2021, arXiv:2104.09864, section 3.2.2)."""

    def __call__(self, d_rotary, base, n_position):
        """Give the inverse frequencies and the factor."""
        return inverse_frequencies(d_rotary, base), 1.0


@dataclass(frozen=True)
class LinearScaling:
    """Squeeze all positions by one factor (Chen et al. 2023, arXiv:2306.15595, eq. 4).

    Attributes
    ----------
    factor : float
        The longer length over the trained one.
    """

    factor: float

    def __call__(self, d_rotary, base, n_position):
        """Give the inverse frequencies and the factor."""
        return [frequency / self.factor for frequency in inverse_frequencies(d_rotary, base)], 1.0


@dataclass(frozen=True)
class NtkScaling:
    """Raise the base, so that the slowest pair is squeezed by the factor and the fastest hardly at all.

    Attributes
    ----------
    factor : float
        The longer length over the trained one.

    References
    ----------
    Peng et al. (2023), "YaRN", arXiv:2309.00071, section 3.1, definition 1.
    """

    factor: float

    def __call__(self, d_rotary, base, n_position):
        """Give the inverse frequencies and the factor."""
        return inverse_frequencies(d_rotary, base * _base_stretch(self.factor, d_rotary)), 1.0


@dataclass(frozen=True)
class DynamicNtkScaling:
    """Raise the base only as far as the sequence at hand is longer than the trained length.

    While decoding, the sequence grows and with it the base: keys in a cache have been rotated with an older one.

    Attributes
    ----------
    factor : float
        The longer length over the trained one.
    n_trained : int
        The trained length, up to which nothing changes.

    References
    ----------
    Peng et al. (2023), "YaRN", arXiv:2309.00071, section 3.3.
    """

    factor: float
    n_trained: int

    def __call__(self, d_rotary, base, n_position):
        """Give the inverse frequencies and the factor."""
        length = max(n_position, self.n_trained)
        stretch = self.factor * length / self.n_trained - (self.factor - 1.0)
        return inverse_frequencies(d_rotary, base * _base_stretch(stretch, d_rotary)), 1.0


@dataclass(frozen=True)
class YarnScaling:
    """Squeeze slow pairs, keep fast ones, blend between; and sharpen the attention (Peng et al. 2023).

    Attributes
    ----------
    factor : float
        The longer length over the trained one.
    n_trained : int
        The trained length.
    n_turn_fast, n_turn_slow : float
        Pairs that turn more often than `n_turn_fast` within the trained length are kept; those that turn less often
        than `n_turn_slow` are squeezed.
    attention_factor : float or None
        Multiplies cosines and sines; by default ``0.1 log(factor) + 1``.
    whole_pairs : bool
        Whether the ends of the blend are rounded outwards to whole pairs, as published.

    References
    ----------
    Peng et al. (2023), "YaRN", arXiv:2309.00071, section 3.2 (the ramp) and eq. 22 (the factor).
    """

    factor: float
    n_trained: int
    n_turn_fast: float = 32.0
    n_turn_slow: float = 1.0
    attention_factor: float | None = None
    whole_pairs: bool = True

    def __call__(self, d_rotary, base, n_position):
        """Give the inverse frequencies and the factor."""
        low, high = (_pair_of_turns(n, d_rotary, base, self.n_trained) for n in (self.n_turn_fast, self.n_turn_slow))
        if self.whole_pairs:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, d_rotary - 1)
        width = high - low if high != low else 0.001  # a step instead of a ramp
        squeezed = [_clip((i - low) / width) for i in range(d_rotary // 2)]
        kept = inverse_frequencies(d_rotary, base)
        factor = self.attention_factor
        if factor is None:
            factor = 0.1 * math.log(self.factor) + 1.0 if self.factor > 1.0 else 1.0
        return [f * (1.0 - s) + f / self.factor * s for f, s in zip(kept, squeezed, strict=True)], factor


@dataclass(frozen=True)
class Llama3Scaling:
    """Squeeze pairs of long wavelength, keep those of short, blend between, as Llama 3.1 does.

    Attributes
    ----------
    factor : float
        How far long wavelengths are squeezed.
    n_trained : int
        The trained length.
    low_factor, high_factor : float
        Wavelengths above ``n_trained / low_factor`` are squeezed, those below ``n_trained / high_factor`` kept.
    """

    factor: float
    n_trained: int
    low_factor: float = 1.0
    high_factor: float = 4.0

    def __call__(self, d_rotary, base, n_position):
        """Give the inverse frequencies and the factor."""
        unscaled = inverse_frequencies(d_rotary, base)
        turns = [self.n_trained * frequency / (2.0 * math.pi) for frequency in unscaled]
        kept = [_clip((turn - self.low_factor) / (self.high_factor - self.low_factor)) for turn in turns]
        return [f * k + f / self.factor * (1.0 - k) for f, k in zip(unscaled, kept, strict=True)], 1.0


def _base_stretch(factor, d_rotary):
    # With this power the last pair, whose frequency is base ** (-(d - 2) / d), is divided by just the factor.
    return math.pow(factor, d_rotary / (d_rotary - 2.0)) if d_rotary > 2 else 1.0


def _pair_of_turns(n_turn, d_rotary, base, n_trained):
    # Which pair, counted in fractions, turns so often within the trained length.
    return d_rotary * math.log(n_trained / (n_turn * 2.0 * math.pi)) / (2.0 * math.log(base))


def _clip(share):
    return min(max(share, 0.0), 1.0)
