"""Rotary positions as the models of `transformers` compute them, with our settings."""

import torch

from refimpl.positions.rotary_scaling import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    NtkScaling,
    YarnScaling,
)


def llama_rotary(x, *, positions=None, offset=0, base=10000.0, scaling=None):
    """Turn all features, paired in halves.

    Parameters
    ----------
    x : torch.Tensor, shape (n_batch, n_head, n_seq, d_head)
        Queries or keys.
    positions : torch.Tensor of int, shape (n_batch, 1, n_seq), optional
        The position of every vector.
    offset : int, optional
        The position of the first vector.
    base : float, optional
        The ratio of wavelengths.
    scaling : object, optional
        A rule of `refimpl.positions.rotary_scaling`.

    Returns
    -------
    torch.Tensor, shape (n_batch, n_head, n_seq, d_head)
        What Llama computes.
    """
    from transformers import LlamaConfig  # takes seconds to import
    from transformers.models.llama import modeling_llama

    rope, n_trained = _their_scaling(scaling, base, x.shape[-1])
    config = LlamaConfig(
        hidden_size=x.shape[1] * x.shape[-1],
        num_attention_heads=x.shape[1],
        max_position_embeddings=n_trained,
        rope_parameters=rope,
    )
    cos, sin = modeling_llama.LlamaRotaryEmbedding(config)(x, _their_positions(x, positions, offset))
    return modeling_llama.apply_rotary_pos_emb(x, x, cos, sin)[0]


def neox_rotary(x, *, d_rotary, positions=None, offset=0, base=10000.0):
    """Turn the first features only, paired in halves.

    Parameters
    ----------
    x : torch.Tensor, shape (n_batch, n_head, n_seq, d_head)
        Queries or keys.
    d_rotary : int
        How many features are turned.
    positions : torch.Tensor of int, shape (n_batch, 1, n_seq), optional
        The position of every vector.
    offset : int, optional
        The position of the first vector.
    base : float, optional
        The ratio of wavelengths.

    Returns
    -------
    torch.Tensor, shape (n_batch, n_head, n_seq, d_head)
        What GPT-NeoX computes.
    """
    from transformers import GPTNeoXConfig
    from transformers.models.gpt_neox import modeling_gpt_neox

    share = d_rotary / x.shape[-1]
    config = GPTNeoXConfig(
        hidden_size=x.shape[1] * x.shape[-1],
        num_attention_heads=x.shape[1],
        rope_parameters={"rope_type": "default", "rope_theta": base, "partial_rotary_factor": share},
    )
    cos, sin = modeling_gpt_neox.GPTNeoXRotaryEmbedding(config)(x, _their_positions(x, positions, offset))
    return modeling_gpt_neox.apply_rotary_pos_emb(x, x, cos, sin)[0]


def roformer_rotary(x, *, offset=0):
    """Turn all features, paired side by side.

    Parameters
    ----------
    x : torch.Tensor, shape (n_batch, n_head, n_seq, d_head)
        Queries or keys.
    offset : int, optional
        The position of the first vector.

    Returns
    -------
    torch.Tensor, shape (n_batch, n_head, n_seq, d_head)
        What RoFormer computes.
    """
    from transformers.models.roformer import modeling_roformer

    n_position = offset + x.shape[-2]
    table = modeling_roformer.RoFormerSinusoidalPositionalEmbedding(n_position, x.shape[-1]).create_weight()
    sinusoidal = table[None, None, offset:].to(x.dtype)
    turn = modeling_roformer.RoFormerSelfAttention.apply_rotary_position_embeddings
    return turn(sinusoidal, x, x)[0]


def _their_positions(x, positions, offset):
    if positions is None:
        return torch.arange(offset, offset + x.shape[-2], device=x.device)[None]
    return positions[:, 0]


def _their_scaling(scaling, base, d_head):
    match scaling:
        case None:
            return {"rope_type": "default", "rope_theta": base}, 2048
        case NtkScaling(factor):
            # They know the dynamic form only; the static one is another base.
            return {"rope_type": "default", "rope_theta": base * factor ** (d_head / (d_head - 2))}, 2048
        case LinearScaling(factor):
            return {"rope_type": "linear", "rope_theta": base, "factor": factor}, 2048
        case DynamicNtkScaling(factor, n_trained):
            return {"rope_type": "dynamic", "rope_theta": base, "factor": factor}, n_trained
        case YarnScaling(factor, n_trained):
            yarn = {"beta_fast": scaling.n_turn_fast, "beta_slow": scaling.n_turn_slow}
            name, more = "yarn", {**yarn, "truncate": scaling.whole_pairs}
        case Llama3Scaling(factor, n_trained, low, high):
            name, more = "llama3", {"low_freq_factor": low, "high_freq_factor": high}
    rope = {"rope_type": name, "rope_theta": base, "factor": factor, "original_max_position_embeddings": n_trained}
    return {**rope, **more}, int(factor * n_trained)
