"""Transformer-XL written from the paper in PyTorch: nothing shifted, every pair given the encoding of its distance."""

import torch
from torch.nn import functional


def layers(token_ids, memory, params, *, config, mask=None):
    """Read a segment.

    Parameters
    ----------
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    memory : torch.Tensor, shape (n_layer, n_batch, n_before, d_model)
        What is remembered.
    params : dict of torch.Tensor
        Those of `refimpl.models.transformer_xl.model.transformer_xl`.
    config : TransformerXLConfig
        Sizes and settings.
    mask : torch.Tensor of bool, optional
        True where a query attends to a key.

    Returns
    -------
    tuple of torch.Tensor
        The embedded segment, what each block returns, and the memory for the next segment.
    """
    states = [embedded(token_ids, params, config)]
    for i in range(config.n_layer):
        own = {key.removeprefix(f"layers.{i}."): x for key, x in params.items() if key.startswith(f"layers.{i}.")}
        shared = {f"self_attn.{key}": x for key, x in params.items() if key in ("r_w_bias", "r_r_bias")}
        states.append(block(states[-1], memory[i], {**own, **shared}, config, mask))
    everything = torch.cat([memory, torch.stack(states[:-1])], 2)
    return *states, everything[:, :, max(0, everything.shape[2] - config.n_memory) :]


def embedded(token_ids, params, config):
    """Look tokens up in one table of full vectors, made of all tables and projections.

    Parameters
    ----------
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    params : dict of torch.Tensor
        As for `layers`.
    config : TransformerXLConfig
        Sizes and settings.

    Returns
    -------
    torch.Tensor, shape (n_batch, n_seq, d_model)
        Their vectors.
    """
    rows = []
    for i in range(1 if config.div_val == 1 else len(config.cutoffs) + 1):
        table, projection = (params.get(f"embedding.{kind}.{i}.weight") for kind in ("tables", "projections"))
        rows.append(table if projection is None else table @ projection.mT)
    return functional.embedding(token_ids, torch.cat(rows)) * config.d_model**0.5


def block(x, memory, params, config, mask):
    """Attend and feed forward.

    Parameters
    ----------
    x : torch.Tensor, shape (n_batch, n_seq, d_model)
        The segment.
    memory : torch.Tensor, shape (n_batch, n_before, d_model)
        What this block remembers.
    params : dict of torch.Tensor
        Those of the block.
    config : TransformerXLConfig
        Sizes and settings.
    mask : torch.Tensor of bool or None
        True where a query attends to a key.

    Returns
    -------
    torch.Tensor, shape (n_batch, n_seq, d_model)
        The new segment.
    """
    norms = [
        lambda x, i=i: functional.layer_norm(
            x, x.shape[-1:], params[f"norm{i}.weight"], params[f"norm{i}.bias"], config.norm_eps
        )
        for i in (1, 2)
    ]
    feed = lambda x: functional.linear(  # noqa: E731
        functional.linear(x, params["linear1.weight"], params["linear1.bias"]).relu(),
        params["linear2.weight"], params["linear2.bias"],
    )  # fmt: skip
    both = torch.cat([memory, x], 1)
    if config.pre_norm:
        mid = x + attended(norms[0](both), x.shape[1], params, config, mask)
        return mid + feed(norms[1](mid))
    mid = norms[0](x + attended(both, x.shape[1], params, config, mask))
    return norms[1](mid + feed(mid))


def attended(both, n_seq, params, config, mask):
    """Let the last positions attend to all up to their own.

    Parameters
    ----------
    both : torch.Tensor, shape (n_batch, n_key, d_model)
        Memory and segment.
    n_seq : int
        The length of the segment.
    params : dict of torch.Tensor
        Those of the block.
    config : TransformerXLConfig
        Sizes and settings.
    mask : torch.Tensor of bool or None
        True where a query attends to a key.

    Returns
    -------
    torch.Tensor, shape (n_batch, n_seq, d_model)
        The mixed heads.
    """
    own = {key.removeprefix("self_attn."): x for key, x in params.items() if key.startswith("self_attn.")}
    heads = lambda x: x.unflatten(-1, (config.n_head, config.d_head)).movedim(-2, -3)  # noqa: E731
    q, k, v = (heads(part) for part in (both @ own["qkv_net.weight"].mT).chunk(3, -1))
    n_key = both.shape[1]
    distance = torch.arange(n_key - n_seq, n_key)[:, None] - torch.arange(n_key)[None, :]
    seen = distance >= 0
    if config.same_length:
        seen = seen & (distance < config.n_memory)
    seen = seen if mask is None else seen & mask
    far = distance.clamp(0, config.clamp_len or n_key)
    i = torch.arange(0, config.d_model, 2, dtype=torch.float64)
    angle = far[..., None] * 10000.0 ** (-i / config.d_model)
    of_pairs = torch.cat([angle.sin(), angle.cos()], -1).to(both.dtype)  # (n_seq, n_key, d_model)
    r = heads((of_pairs @ own["r_net.weight"].mT).flatten(0, 1)).unflatten(1, (n_seq, n_key))
    q = q[:, :, n_key - n_seq :]
    content = (q + own["r_w_bias"][:, None]) @ k.mT
    position = torch.einsum("bhid,hijd->bhij", q + own["r_r_bias"][:, None], r)
    scores = ((content + position) * config.d_head**-0.5).masked_fill(~seen, -torch.inf)
    empty = ~seen.any(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)
    return (weights @ v).movedim(-3, -2).flatten(-2) @ own["o_net.weight"].mT


def log_softmax(x, tables, biases, projections, clusters, cutoffs):
    """Give the log-probability of every token, as the product of its cluster's and its own within it.

    Parameters
    ----------
    x : torch.Tensor, shape (..., d_model)
        Hidden states.
    tables, biases, projections : list of torch.Tensor
        Of each cluster; a projection may be None.
    clusters : tuple of torch.Tensor
        Weight and bias of the clusters but the first.
    cutoffs : tuple of int
        Where the clusters begin.

    Returns
    -------
    torch.Tensor, shape (..., n_token)
        The log-probabilities.
    """
    narrow = [x if projection is None else x @ projection for projection in projections]
    scores = [h @ table.mT + (0.0 if bias is None else bias)
              for h, table, bias in zip(narrow, tables, biases, strict=True)]  # fmt: skip
    if not cutoffs:
        return torch.log_softmax(scores[0], -1)
    of_clusters = narrow[0] @ clusters[0].mT + (0.0 if clusters[1] is None else clusters[1])
    total = torch.logsumexp(torch.cat([scores[0], of_clusters], -1), -1, keepdim=True)
    parts = [scores[0] - total]
    for i, score in enumerate(scores[1:]):
        parts.append(of_clusters[..., i : i + 1] - total + torch.log_softmax(score, -1))
    return torch.cat(parts, -1)


def lm(token_ids, memory, params, *, config, mask=None):
    """Give the log-probabilities and the memory.

    Parameters
    ----------
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    memory : torch.Tensor, shape (n_layer, n_batch, n_before, d_model)
        What is remembered.
    params : dict of (str, torch.Tensor)
        Those of `refimpl.models.transformer_xl.heads.transformer_xl_lm`.
    config : TransformerXLConfig
        Sizes and settings.
    mask : torch.Tensor of bool, optional
        True where a query attends to a key.

    Returns
    -------
    tuple of torch.Tensor
        Log-probabilities and memory.
    """
    *_, last, remembered = layers(token_ids, memory, params, config=config, mask=mask)
    ends = [*config.cutoffs, config.vocab_size]
    sizes = [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    one = config.div_val == 1
    split = lambda x: list(x.split(sizes))  # noqa: E731
    tables = [f"embedding.tables.{i}.weight" for i in range(len(ends))]
    biases = [f"softmax.tables.{i}.bias" for i in range(len(ends))]
    projections = [
        params.get(f"softmax.projections.{i}.weight", params.get(f"embedding.projections.{0 if one else i}.weight"))
        for i in range(len(ends))
    ]
    y = log_softmax(
        last,
        split(params[tables[0]]) if one else [params[key] for key in tables],
        split(params[biases[0]]) if one else [params[key] for key in biases],
        projections,
        (params.get("softmax.clusters.weight"), params.get("softmax.clusters.bias")),
        config.cutoffs,
    )
    return y, remembered
