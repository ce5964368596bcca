"""How a component looks: small edits (sample, old text, new text), each of which breaks one rule."""

from tests.contract.edits import (
    BLOCK,
    CENTRED,
    DPARAMS,
    GATHER,
    GRADIENTS,
    IMPORT,
    LAST,
    LAYER_NORM,
    PAIR,
    SIGNATURE,
    X_HAT,
    G,
    after,
)

VIOLATIONS = {
    "captured_names_are_bound_once": [
        (LAYER_NORM, *after(X_HAT, "inv_std = inv_std * 1.0")),
        (LAYER_NORM, *after(X_HAT, "for weight in range(3):", "    check_shape('x', x, (1,))")),
        (LAYER_NORM, *after(X_HAT, "check_shape('x', (inv_std := x), (1,))")),
        (LAYER_NORM, *after(X_HAT, "rows = [(weight := i) for i in range(3)]")),
        (LAYER_NORM, *after(X_HAT, "from refimpl.layers import weight")),
        (BLOCK, *after("y = mid + fed", "normed3, norm1_pullback = layer_norm(y, params)")),
        (GATHER, "share = math", "last = step + 1\n        share = math"),
    ],
    "parameters_keep_their_value": [
        (BLOCK, *after("mid = x + attended", "n_head = 2")),
        (GATHER, "kind == \"mean\" else math.sqrt(1.0)", "kind == \"mean\" else math.sqrt(1.0)\n    kind = KINDS[0]"),
        (GATHER, "for step in range(n_step):\n        sums", "for kind in range(n_step):\n        sums"),
        (GATHER, "return generator", "shape = (1,)\n    return generator"),
        (LAYER_NORM, G, f"dy = dy + 0.0\n        {G}"),
    ],
    "arrays_then_params": [
        (LAYER_NORM, SIGNATURE, "def layer_norm(x, params, eps=1e-5):"),
        (BLOCK, "(x, params, *, n_head", "(params, x, *, n_head"),
        (LAYER_NORM, SIGNATURE, "def layer_norm(x, params, *others, eps=1e-5):"),
        (GATHER, "bias=None, *, mask", "bias=0.0, *, mask"),
        (GATHER, "bias=None, *, mask=None, kind", "bias=None, kind"),
    ],
    "keyword_arrays_have_no_gradient": [
        (BLOCK, "mask : array of bool, optional", "mask : array, optional"),
    ],
    "only_pullbacks_are_nested": [
        (LAYER_NORM, G, f"double = lambda g: g + g\n        {G}"),
        (LAYER_NORM, *after(X_HAT, "shifts = [lambda dy: dy + i for i in range(3)]")),
        (LAYER_NORM, *after(CENTRED, "def square(g):", "    return g * g", "")),
    ],
    "pullback_stands_last": [
        (LAYER_NORM, LAST, "    return y\n"),
        (LAYER_NORM, LAST, "    return pullback, y\n"),
        (LAYER_NORM, LAST, "    return y, x_hat, pullback\n"),
        (LAYER_NORM, LAST, f"    scale = eps\n{LAST}"),
        (LAYER_NORM, LAST, ""),
        (GATHER, "if half_heads < 1:", "if bias is None:\n        return values\n    if half_heads < 1:"),
    ],
    "pullback_takes_dy": [
        (LAYER_NORM, "def pullback(dy):", "def pullback(dy, x_hat):"),
        (LAYER_NORM, "def pullback(dy):", "def pullback(dy=None):"),
        (LAYER_NORM, "def pullback(dy):", "def pullback(dy, *, scale=1.0):"),
        (LAYER_NORM, "def pullback(dy):", "def pullback(*dy):"),
    ],
    "pullback_returns_a_tuple": [
        (LAYER_NORM, GRADIENTS, "return dx"),
        (LAYER_NORM, GRADIENTS, "return [dx, {}]"),
        (LAYER_NORM, GRADIENTS, "check_shape('dx', dx, x.shape)"),
        (LAYER_NORM, GRADIENTS, "return check_shape(dx, {})"),
        (GATHER, "else (dweights, dvalues, sum_to(dy, bias.shape))", "else dweights"),
    ],
    "one_gradient_per_array": [
        (LAYER_NORM, GRADIENTS, "return (dx,)"),
        (LAYER_NORM, GRADIENTS, "return dx, {}, {}"),
        (GATHER, PAIR, "return (dweights,)"),
        (GATHER, PAIR, "return dweights, dvalues, dvalues * 1.0, dvalues * 2.0"),
    ],
    "gradients_in_order": [
        (LAYER_NORM, GRADIENTS, f"return {DPARAMS}, dx"),
        (GATHER, "return (dweights, dvalues) if", "return (dvalues, dweights) if"),
    ],
    "documented_components": [
        (LAYER_NORM, "    pullback : callable\n        Maps dy to ``(dx, dparams)``.\n", ""),
    ],
    "short_file": [(LAYER_NORM, IMPORT, IMPORT + "A = 1\n" * 150)],
    "short_functions": [(LAYER_NORM, *after(CENTRED, *[f"a{i} = {i}" for i in range(25)]))],
}
