"""The parameters of multi-head latent attention, and the sizes that they settle."""

from refimpl.arrays import array_namespace, check_floating, check_params, check_setting, check_shape
from refimpl.attention.mask import check_mask

BIASES = ("q_a_proj.bias", "kv_a_proj_with_mqa.bias", "o_proj.bias")
OF_QUERIES = ("q_a_proj.weight", "q_a_layernorm.weight", "q_b_proj.weight")
OF_KEYS = ("kv_a_proj_with_mqa.weight", "kv_a_layernorm.weight", "kv_b_proj.weight", "o_proj.weight")


def check_latent(x, params, n_head, mask):
    """Require parameters that fit each other, and find the sizes of a head.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequence.
    params : dict of array
        Parameters of `refimpl.attention.latent.layer.latent_attention`.
    n_head : int
        The number of heads.
    mask : array of bool, broadcasts to (n_batch, n_head, n_seq, n_seq), or None
        The attention mask.

    Returns
    -------
    d_nope, d_rope : int
        How many features of a query, and of a key, are not rotated, and how many are.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes differ.
    """
    array_namespace(x, params, mask)
    through_latent = "q_a_proj.weight" in params
    of_queries = OF_QUERIES if through_latent else ("q_proj.weight",)
    check_params(params, (*of_queries, *OF_KEYS), BIASES if through_latent else BIASES[1:])
    check_floating(x=x, params=params)
    check_shape("x", x, (None, None, None))
    check_setting("n_head", n_head, n_head > 0, "at least 1")
    for key, param in params.items():
        check_shape(key, param, (None,) if key.endswith((".bias", "norm.weight")) else (None, None))
    d_model, d_latent = x.shape[-1], params["kv_a_layernorm.weight"].shape[0]
    d_rope = params["kv_a_proj_with_mqa.weight"].shape[0] - d_latent
    d_nope = params[of_queries[-1]].shape[0] // n_head - d_rope
    d_value = params["kv_b_proj.weight"].shape[0] // n_head - d_nope
    check_setting("d_rope", d_rope, d_rope >= 0, "at least 0: the rows of kv_a_proj_with_mqa.weight beyond d_latent")
    d_low = params["q_a_layernorm.weight"].shape[0] if through_latent else d_model
    shapes = {
        "q_a_proj.weight": (d_low, d_model),
        of_queries[-1]: (n_head * (d_nope + d_rope), d_low),
        "kv_a_proj_with_mqa.weight": (d_latent + d_rope, d_model),
        "kv_b_proj.weight": (n_head * (d_nope + d_value), d_latent),
        "o_proj.weight": (d_model, n_head * d_value),
    }
    for key in shapes.keys() & params.keys():
        check_shape(key, params[key], shapes[key])
    if mask is not None:
        check_mask(mask, (x.shape[0], n_head, x.shape[1], x.shape[1]))
    return d_nope, d_rope
