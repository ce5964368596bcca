"""Arrays: which library is in use, which of its words we may use, and how we refuse bad input."""

from refimpl.arrays.backend import asarray, backend, default_backend
from refimpl.arrays.check import (
    check_boolean,
    check_broadcastable,
    check_floating,
    check_gradient,
    check_gradients,
    check_ids,
    check_integers,
    check_params,
    check_rank,
    check_scopes,
    check_setting,
    check_shape,
    check_shapes,
    check_tokens,
)
from refimpl.arrays.namespace import array_namespace
from refimpl.arrays.narrow import Narrow, narrow
from refimpl.arrays.params import add_prefix, keyed_as, merge, pick, scope
from refimpl.arrays.precision import cast, table_dtype, widen
from refimpl.arrays.settings import (
    check_below,
    check_choice,
    check_flag,
    check_multiple,
    check_positive,
    check_size,
    integer,
    number,
)
from refimpl.arrays.shape import sum_to
from refimpl.arrays.special import erf, logsumexp, scatter_add
from refimpl.arrays.vocabulary import VOCABULARY

__all__ = [
    "VOCABULARY",
    "Narrow",
    "add_prefix",
    "array_namespace",
    "asarray",
    "backend",
    "cast",
    "check_below",
    "check_boolean",
    "check_broadcastable",
    "check_choice",
    "check_flag",
    "check_floating",
    "check_gradient",
    "check_gradients",
    "check_ids",
    "check_integers",
    "check_multiple",
    "check_params",
    "check_positive",
    "check_rank",
    "check_scopes",
    "check_setting",
    "check_shape",
    "check_shapes",
    "check_size",
    "check_tokens",
    "default_backend",
    "erf",
    "integer",
    "keyed_as",
    "logsumexp",
    "merge",
    "narrow",
    "number",
    "pick",
    "scatter_add",
    "scope",
    "sum_to",
    "table_dtype",
    "widen",
]
