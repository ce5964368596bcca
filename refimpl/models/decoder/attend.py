"""Attention as a part of a causal block: over a whole sequence, or of what is new over a cache."""

from dataclasses import dataclass

from refimpl.arrays import add_prefix, array_namespace, check_params, check_setting, check_shape, keyed_as, merge, scope
from refimpl.attention.grouped.layer import grouped_query_decode, grouped_query_self_attention

FUSED = "qkv_proj."
SEPARATE = ("q_proj.", "k_proj.", "v_proj.")


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
        return _split_qkv(params, n_head=settings["n_head"], n_kv_head=settings["n_kv_head"])
    return params, _identity


def _identity(dy):
    return (dy,)


def _split_qkv(params, *, n_head, n_kv_head):
    """Cut one projection, whose rows are queries, keys and values one after the other, into three."""
    xp = array_namespace(params)
    fused, others = scope(params, FUSED), {key: x for key, x in params.items() if not key.startswith(FUSED)}
    check_params(fused, ["weight"], optional=["bias"])
    check_shape("qkv_proj.weight", fused["weight"], (None, None))
    n_row, n_rows_of = fused["weight"].shape[0], n_head + 2 * n_kv_head
    check_setting("n_head", n_head, n_row % n_rows_of == 0, f"such that {n_rows_of} heads divide {n_row} rows")
    d_head = n_row // n_rows_of
    bounds = [n_head * d_head, (n_head + n_kv_head) * d_head]
    parts = {key: xp.split(x, bounds, axis=0) for key, x in fused.items()}
    separate = [{key: parts[key][i] for key in fused} for i in range(len(SEPARATE))]
    y = merge(others, *(add_prefix(prefix, part) for prefix, part in zip(SEPARATE, separate, strict=True)))

    def pullback(dy):
        dparts = [scope(dy, prefix) for prefix in SEPARATE]
        dfused = {key: xp.concatenate([dpart[key] for dpart in dparts], axis=0) for key in fused}
        dparams = merge({key: dy[key] for key in others}, add_prefix(FUSED, dfused))
        return (keyed_as(dparams, params),)

    return y, pullback
