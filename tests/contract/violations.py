"""For every rule, small edits of a correct sample that break it, and it alone: (sample, old text, new text)."""

CENTRED = "centred = x - xp.mean(x, axis=-1, keepdims=True)"
INV_STD = "inv_std = 1.0 / xp.sqrt(variance + eps)"
X_HAT = "x_hat = centred * inv_std"
LOOKUP = "xp = array_namespace(x, params)"
IMPORT = "from refimpl.arrays import array_namespace, check_shape\n"
SIGNATURE = "def layer_norm(x, params, *, eps=1e-5):"
DPARAMS = '{"weight": xp.sum(dy * x_hat, axis=batch_axes), "bias": xp.sum(dy, axis=batch_axes)}'
GRADIENTS = f"return dx, {DPARAMS}"
G = "g = dy * weight"
LAST = "    return y, pullback\n"
CHECK = 'check_shape("bias", bias, x.shape[-1:])'
LOOP = "sums.append(xp.matmul(allowed, values) / (divisor + step))"
HELPER = "def _blank(xp, x, mask):\n    return x if mask is None else xp."
PAIR = "return (dweights, dvalues) if bias is None else (dweights, dvalues, sum_to(dy, bias.shape))"
LAYER_NORM, GATHER, BLOCK = "layer_norm", "gather", "encoder_block"


def after(old, *lines):
    """Put lines after one, as deep as a component's body."""
    return old, "\n    ".join([old, *lines])


VIOLATIONS = {
    "no_array_library": [
        (LAYER_NORM, IMPORT, f"import numpy\n{IMPORT}"),
        (LAYER_NORM, IMPORT, f"from scipy.special import erf\n{IMPORT}"),
        (LAYER_NORM, IMPORT, f"from autograd.numpy import exp\n{IMPORT}"),
        (LAYER_NORM, *after(CENTRED, "from ml_dtypes import bfloat16")),
        (LAYER_NORM, IMPORT, f"import cupy.random\n{IMPORT}".replace(".random", ".linalg")),
        (LAYER_NORM, *after(CENTRED, 'lib = __import__("lib")')),
    ],
    "few_imports": [
        (LAYER_NORM, IMPORT, f"import os\n{IMPORT}"),
        (LAYER_NORM, IMPORT, f"from compare import cases\n{IMPORT}"),
        (LAYER_NORM, IMPORT, f"from concurrent.futures import ThreadPoolExecutor\n{IMPORT}"),
    ],
    "no_framework_names": [
        (LAYER_NORM, SIGNATURE, SIGNATURE.replace("eps", "torch_eps")),
        (LAYER_NORM, *after(CENTRED, 'kind = "as in PyTorch"')),
        (LAYER_NORM, *after(CENTRED, "np_mean = 0.0")),
        (GATHER, "class GatherConfig:", "class HuggingfaceConfig:"),
        (LAYER_NORM, IMPORT, f"import math as jax\n{IMPORT}"),
    ],
    "namespace_first": [
        (LAYER_NORM, LOOKUP, f"d_model = x.shape[-1]\n    {LOOKUP}"),
        (LAYER_NORM, f"    {LOOKUP}\n", ""),
        (LAYER_NORM, LOOKUP, LOOKUP.removeprefix("xp = ")),
        (LAYER_NORM, *after(CENTRED, "array_namespace(x, params)")),
        (LAYER_NORM, G, f"{G}\n        {LOOKUP}"),
        (GATHER, "return generator", "lib = array_namespace(shape)\n    return generator"),
    ],
    "namespace_of_every_array": [
        (LAYER_NORM, LOOKUP, "xp = array_namespace(x)"),
        (LAYER_NORM, LOOKUP, "xp = array_namespace(params)"),
        (GATHER, "(weights, values, bias, mask)", "(weights, values, bias)"),
        (GATHER, "(weights, values, bias, mask)", "(weights, values, mask)"),
    ],
    "namespace_is_no_value": [
        (LAYER_NORM, *after(LOOKUP, "lib = xp")),
        (LAYER_NORM, *after(LOOKUP, 'mean = getattr(xp, "average")')),
        (GATHER, "_blank(xp, weights, mask)", "check_shape(xp, weights, mask)"),
        (GATHER, HELPER, HELPER.replace("xp", "lib")),
    ],
    "words_of_the_vocabulary": [
        (LAYER_NORM, "xp.sqrt(", "xp.cbrt("),
        (LAYER_NORM, CENTRED, CENTRED.replace("mean", "average")),
        (LAYER_NORM, *after(CENTRED, "norm = xp.linalg")),
        (GATHER, "xp.where(mask, x, 0.0)", "xp.maximum(x, 0.0)"),
    ],
    "call_forms_of_the_vocabulary": [
        (LAYER_NORM, CENTRED, CENTRED.replace("axis=-1", "-1")),
        (LAYER_NORM, CENTRED, CENTRED.replace("axis=-1, ", "")),
        (LAYER_NORM, CENTRED, CENTRED.replace("axis=-1", "axis=-1, dtype=x.dtype")),
        (LAYER_NORM, CENTRED, CENTRED.replace("axis=-1, keepdims=True", "**settings")),
        (GATHER, "xp.where(mask, x, 0.0)", "xp.where(mask)"),
        (GATHER, "total if bias", "xp.pad(total, ((0, 0), (0, 0))) if bias"),
        (GATHER, "total if bias", 'xp.pad(total, ((0, 0), (0, 0)), mode="edge") if bias'),
        (GATHER, "total if bias", "total + xp.zeros(total.shape) if bias"),
    ],
    "no_array_methods": [
        (LAYER_NORM, "xp.mean(x, axis=-1, keepdims=True)", "x.mean(axis=-1, keepdims=True)"),
        (GATHER, "xp.swapaxes(allowed, 0, 1)", "allowed.T"),
        (GATHER, "total if bias", "total.reshape(-1) if bias"),
        (LAYER_NORM, INV_STD, INV_STD.replace("variance + eps", "(variance + eps).real")),
        (LAYER_NORM, *after(CENTRED, "d_model = x.size")),
        (LAYER_NORM, *after(CENTRED, "other = centred.__array_namespace__()")),
    ],
    "few_operators": [
        (GATHER, "xp.matmul(allowed, values)", "(allowed @ values)"),
        (LAYER_NORM, "centred * centred", "centred**2"),
        (LAYER_NORM, X_HAT, "x_hat = centred // inv_std"),
        (LAYER_NORM, G, "g = dy % weight"),
        (LAYER_NORM, X_HAT, 'x_hat = centred * inv_std + (params["bias"] ^ 1)'),
    ],
    "no_truth_of_arrays": [
        (GATHER, "x if mask is None else xp.where(mask, x, 0.0)", "x if xp.all(mask, axis=0) else 0.0"),
        (GATHER, "total if bias is None", "total if not bias"),
        (LAYER_NORM, X_HAT, "x_hat = centred and inv_std"),
        (LAYER_NORM, CHECK, "check_shape('bias', bias, tuple(1 for row in centred))"),
        (LAYER_NORM, *after(CENTRED, "inside = -1.0 < centred < 1.0")),
        (LAYER_NORM, *after(CENTRED, "for row in x:", "    check_shape('row', row, (1,))")),
    ],
    "no_python_functions_of_arrays": [
        (LAYER_NORM, INV_STD, "inv_std = 1.0 / math.sqrt(variance + eps)"),
        (LAYER_NORM, G, "g = abs(dy * weight)"),
        (LAYER_NORM, *after(CENTRED, "highest = float(xp.max(x, axis=-1))")),
        (LAYER_NORM, *after(CENTRED, "rows = list(x)")),
        (LAYER_NORM, *after(CENTRED, "n_row = len(centred[0])")),
    ],
    "no_item_assignment": [
        (LAYER_NORM, *after(CENTRED, "centred[0] = 0.0")),
        (LAYER_NORM, *after(CENTRED, 'params["weight"] = bias')),
        (LAYER_NORM, *after(CENTRED, "x.shape = (1,)")),
        (LAYER_NORM, *after(CENTRED, "for centred[0] in range(2):", "    check_shape('x', x, (1,))")),
    ],
    "no_augmented_assignment": [
        (GATHER, LOOP, f"{LOOP}\n    half_heads += 1"),
        (GATHER, LOOP, f"{LOOP}\n    sums += [allowed]"),
    ],
    "no_del": [(LAYER_NORM, *after(INV_STD, "del variance"))],
    "no_out": [(LAYER_NORM, CHECK, "check_shape('bias', bias, x.shape[-1:], out=centre)")],
    "no_global": [
        (LAYER_NORM, *after(LOOKUP, "global COUNT")),
        (LAYER_NORM, G, f"nonlocal total\n        {G}"),
    ],
    "mutates_only_its_own": [
        (LAYER_NORM, *after(LOOKUP, "params.update(extra=x)")),
        (LAYER_NORM, *after(LOOKUP, 'params.pop("bias")')),
        (LAYER_NORM, G, f"seen.append(dy)\n        {G}"),
        (GATHER, "share = math", "sums.clear()\n        share = math"),
        (GATHER, "sums.append(xp", "KINDS.append(xp"),
    ],
    "no_hidden_state": [
        (LAYER_NORM, SIGNATURE, SIGNATURE.replace("eps=1e-5", "eps=1e-5, seen=[]")),
        (LAYER_NORM, IMPORT, f"{IMPORT}\nseen = {{}}\n"),
        (LAYER_NORM, IMPORT, f"{IMPORT}\nSEEN: dict = {{}}\n"),
        (LAYER_NORM, IMPORT, f"{IMPORT}\ncheck_shape(1, 2, 3)\n"),
        (LAYER_NORM, SIGNATURE, f"@lru_cache\n{SIGNATURE}"),
        (LAYER_NORM, IMPORT, f"{IMPORT}\nfor i in range(3):\n    check_shape(i, 2, 3)\n"),
    ],
    "frozen_classes": [
        (GATHER, "@dataclass(frozen=True)\n", ""),
        (GATHER, "@dataclass(frozen=True)\n", "@dataclass\n"),
    ],
    "no_side_effects": [
        (LAYER_NORM, *after(CENTRED, "print(centred.shape)")),
        (LAYER_NORM, *after(CENTRED, 'log = open("log")')),
        (LAYER_NORM, *after(CENTRED, 'three = eval("3")')),
    ],
    "no_randomness": [
        (GATHER, "return generator.random(shape)", "return random(shape)"),
        (GATHER, "return generator.random(shape)", "return default_rng(0).uniform(shape)"),
        (GATHER, "def keep_mask(generator, ", "def keep_mask(source, generator_kind, "),
        (GATHER, "return x if mask", "noise = generator.random(3)\n    return x if mask"),
    ],
    "no_assert": [(LAYER_NORM, CHECK, "assert bias.shape == x.shape[-1:]")],
    "plain_errors": [
        (GATHER, "raise ValueError(", "raise RuntimeError("),
        (GATHER, "raise ValueError(", "raise NotImplementedError("),
        (LAYER_NORM, CHECK, f"try:\n        {CHECK}\n    finally:\n        check_shape('x', x, (1,))"),
    ],
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
