"""Edits of the correct samples: what the planted violations replace."""

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
