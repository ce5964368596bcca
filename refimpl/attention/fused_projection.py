"""Queries, keys and values by one projection: its rows one after the other (as in GPT-NeoX, Bloom and Phi-3)."""

from refimpl.arrays import add_prefix, array_namespace, check_setting, check_shape, merge, scope

FUSED = "qkv_proj."
SEPARATE = ("q_proj.", "k_proj.", "v_proj.")


def split_qkv(params, *, n_head, n_kv_head):
    """Cut a fused projection into those of queries, keys and values.

    Parameters
    ----------
    params : dict of array
        ``qkv_proj.weight`` ((n_head + 2 n_kv_head) d_head, d_model), optionally ``qkv_proj.bias``; any others stay as
        they are.
    n_head, n_kv_head : int
        The numbers of heads of queries, and of keys and values.

    Returns
    -------
    y : dict of array
        ``q_proj.*``, ``k_proj.*`` and ``v_proj.*`` in place of ``qkv_proj.*``.
    pullback : callable
        Maps a dy with the keys of y to ``(dparams,)``.

    Raises
    ------
    ValueError
        If the rows are not those of so many heads.
    """
    xp = array_namespace(params)
    fused, others = scope(params, FUSED), {key: x for key, x in params.items() if not key.startswith(FUSED)}
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
        return ({key: dparams[key] for key in params},)

    return y, pullback
