"""Attention as a part of a causal block: over a whole sequence, or of what is new over a cache."""

from dataclasses import dataclass

from refimpl.attention.fused_projection import FUSED, split_qkv
from refimpl.attention.grouped_query_layer import grouped_query_decode, grouped_query_self_attention


@dataclass(frozen=True)
class Attend:
    """Attention over a whole sequence.

    Attributes
    ----------
    settings : dict
        Of `grouped_query_self_attention`.
    """

    settings: dict

    def __call__(self, x, params):
        """Attend; nothing is told beside."""
        separate, split_pullback = _separate(params, self.settings)
        y, attention_pullback = grouped_query_self_attention(x, separate, **self.settings)

        def pullback(dy):
            dx, dseparate = attention_pullback(*dy)
            return dx, *split_pullback(dseparate)

        return (y,), pullback


@dataclass(frozen=True)
class Recall:
    """Attention of new positions over a cache; forward only.

    Attributes
    ----------
    past : KeyValueCache
        What is remembered.
    settings : dict
        Of `grouped_query_decode`.
    """

    past: object
    settings: dict

    def __call__(self, x, params):
        """Attend, and tell the longer cache."""
        separate, _ = _separate(params, self.settings)
        return grouped_query_decode(x, separate, self.past, **self.settings), None


def _separate(params, settings):
    if any(key.startswith(FUSED) for key in params):
        return split_qkv(params, n_head=settings["n_head"], n_kv_head=settings["n_kv_head"])
    return params, _identity


def _identity(dy):
    return (dy,)
