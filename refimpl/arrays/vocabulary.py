"""The words that components may use: one small closed list, so that one text has many interpretations.

Every kind of array that may flow through the components (NumPy, CuPy, autograd, spread arrays, strict device
arrays, …) understands exactly these functions, with these call forms.  Beside them components use the
operators ``+ - * /``, unary minus, comparisons, ``& | ~`` on masks, indexing (basic, boolean, integer arrays,
None), the attributes ``shape ndim dtype`` and the method ``astype``; and `erf`, `logsumexp` and `scatter_add`
of `refimpl.arrays.special`, which no two libraries keep in the same place.

A word is added here first, then to every interpretation, until the conformance test passes again.
"""

VOCABULARY = {
    # elementwise
    "exp": "exp(x)",
    "log": "log(x), x > 0",
    "sqrt": "sqrt(x)",
    "tanh": "tanh(x)",
    "sin": "sin(x)",
    "cos": "cos(x)",
    "floor": "floor(x); no gradient",
    "where": "where(mask, a, b); a or b may be a Python number; a and b must not be smaller than the result",
    "isfinite": "isfinite(x) -> bool",
    # reductions; axis is keyword and an int or a tuple of non-negative ints, or -1
    "sum": "sum(x, axis=..., keepdims=...)",
    "mean": "mean(x, axis=..., keepdims=...)",
    "max": "max(x, axis=..., keepdims=...)",
    "min": "min(x, axis=..., keepdims=...)",
    "any": "any(mask, axis=..., keepdims=...)",
    "all": "all(mask, axis=..., keepdims=...)",
    "argmax": "argmax(x, axis=...); ties give the lowest index",
    "cumsum": "cumsum(x, axis=...)",
    "argsort": "argsort(x, axis=-1); sort by -x for the largest first; equal elements keep no promised order",
    # products
    "matmul": "matmul(a, b); both at least 2-d; leading axes broadcast",
    "einsum": "einsum(spec, a, b[, c]); letters and ...; no repeated letter inside one operand",
    # shape
    "reshape": "reshape(x, shape)",
    "swapaxes": "swapaxes(x, axis1, axis2)",
    "moveaxis": "moveaxis(x, source, destination)",
    "expand_dims": "expand_dims(x, axis=...)",
    "squeeze": "squeeze(x, axis=...)",
    "concatenate": "concatenate(arrays, axis=...)",
    "stack": "stack(arrays, axis=...)",
    "split": "split(x, n_or_boundaries, axis=...)",
    "pad": 'pad(x, widths, mode="constant"[, constant_values=number])',
    "tril": "tril(x, k=...)",
    "triu": "triu(x, k=...)",
    # creation; on the device of the namespace
    "zeros": "zeros(shape, dtype=...)",
    "ones": "ones(shape, dtype=...)",
    "full": "full(shape, number, dtype=...)",
    "arange": "arange([start, ]stop[, step]); int64",
    "asarray": "asarray(numbers, dtype=...); a list of Python numbers, computed on the host",
    "zeros_like": "zeros_like(x)",
    "ones_like": "ones_like(x)",
    # dtypes
    "float32": "single precision",
    "float64": "double precision",
    "int64": "64-bit integers",
    "bool_": "booleans",
}
