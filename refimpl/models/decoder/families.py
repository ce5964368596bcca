"""What the families of decoder-only models are made of."""

from dataclasses import replace

from refimpl.models.decoder.config import PROJECTIONS, DecoderConfig
from refimpl.models.decoder.mixture import Mixture
from refimpl.models.decoder.parts import Alibi, Dense, LayerNorm, RmsNorm, Rotary


def llama_config(
    *, vocab_size, d_model, n_layer, n_head, d_ff, n_kv_head=None, d_head=None, activation="silu", norm_eps=1e-6,
    theta=10000.0, scaling=None, biased=(), feed_bias=False, window=None, tied=False,
):  # fmt: skip
    """Make up a Llama, or a Mistral: RMS norm, rotary positions, grouped queries, a gated feed-forward network.

    Parameters
    ----------
    vocab_size, d_model, n_layer, n_head, d_ff : int
        Sizes.
    n_kv_head : int, optional
        By default n_head: as many heads of keys and values as of queries.
    d_head : int, optional
        By default d_model / n_head.
    activation : str, optional
        Of the gate.
    norm_eps, theta, scaling : optional
        See `RmsNorm` and `Rotary`.
    biased : tuple of str, optional
        The projections of attention that have a bias: ``q_proj``, ``k_proj`` and ``v_proj`` in Qwen2.
    feed_bias : bool, optional
        Whether the feed-forward network has biases.
    window : int, optional
        How many positions a query sees (Mistral).
    tied : bool, optional
        Whether the head is the table of embeddings.

    Returns
    -------
    DecoderConfig
        The configuration.

    References
    ----------
    Touvron et al. (2023), "LLaMA", arXiv:2302.13971, section 2.2; Jiang et al. (2023), "Mistral 7B", arXiv:2310.06825.
    """
    return DecoderConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_head=n_head,
        n_kv_head=n_head if n_kv_head is None else n_kv_head,
        d_head=d_model // n_head if d_head is None else d_head,
        feeds=(Dense(d_ff, activation=activation, gated=True, bias=feed_bias),) * n_layer,
        norm=RmsNorm(norm_eps),
        positions=Rotary(theta, scaling=scaling),
        biased=biased,
        window=window,
        tied=tied,
    )


def mixtral_config(*, n_expert, n_chosen, **settings):
    """Make up a Mixtral: a Llama in which every feed-forward network is a mixture of experts.

    Parameters
    ----------
    n_expert, n_chosen : int
        The numbers of experts, and of those that a token goes to.
    **settings
        Of `llama_config`; ``d_ff`` is the width of an expert.

    Returns
    -------
    DecoderConfig
        The configuration.

    References
    ----------
    Jiang et al. (2024), "Mixtral of Experts", arXiv:2401.04088, section 2.1.
    """
    dense = llama_config(**settings)
    feeds = tuple(Mixture(n_expert, n_chosen, feed.d_ff, feed.activation) for feed in dense.feeds)
    return replace(dense, feeds=feeds)


def qwen2_moe_config(
    *, n_expert, n_chosen, d_expert, d_shared, softmax_over="all", dense_layers=(), biased=PROJECTIONS[:3], **settings
):  # fmt: skip
    """Make up a Qwen2Moe: small experts, one of them for all tokens, and biases of queries, keys and values.

    Parameters
    ----------
    n_expert, n_chosen : int
        The numbers of experts, and of those that a token goes to.
    d_expert, d_shared : int
        Widths of an expert, and of the one for all.
    softmax_over : {"all", "chosen"}, optional
        Of the router.
    dense_layers : tuple of int, optional
        The layers, counted from 0, with an ordinary network of width ``d_ff``.
    biased : tuple of str, optional
        The projections of attention that have a bias.
    **settings
        Of `llama_config`.

    Returns
    -------
    DecoderConfig
        The configuration.

    References
    ----------
    Yang et al. (2024), "Qwen2 Technical Report", arXiv:2407.10671, section 2.2.2.
    """
    dense = llama_config(**settings, biased=biased)
    feeds = tuple(
        feed if i in dense_layers else Mixture(n_expert, n_chosen, d_expert, feed.activation, softmax_over, d_shared)
        for i, feed in enumerate(dense.feeds)
    )
    return replace(dense, feeds=feeds)


def gpt_neox_config(
    *, vocab_size, d_model, n_layer, n_head, d_ff, d_rotary, activation="gelu", norm_eps=1e-5, theta=10000.0,
    scaling=None, parallel=True, biased=PROJECTIONS, tied=False,
):  # fmt: skip
    """Make up a GPT-NeoX: layer norm, partly rotated heads, attention and feed-forward network side by side.

    Parameters
    ----------
    vocab_size, d_model, n_layer, n_head, d_ff : int
        Sizes.
    d_rotary : int
        How many features of a head are turned: a quarter in GPT-NeoX-20B and Pythia.
    activation : str, optional
        Of the feed-forward network.
    norm_eps, theta, scaling : optional
        See `LayerNorm` and `Rotary`.
    parallel : bool, optional
        Whether they stand side by side.
    biased : tuple of str, optional
        The projections of attention that have a bias.
    tied : bool, optional
        Whether the head is the table of embeddings.

    Returns
    -------
    DecoderConfig
        The configuration.

    References
    ----------
    Black et al. (2022), "GPT-NeoX-20B", arXiv:2204.06745, section 2.1.
    """
    return DecoderConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_head=n_head,
        n_kv_head=n_head,
        d_head=d_model // n_head,
        feeds=(Dense(d_ff, activation=activation, gated=False, bias=True),) * n_layer,
        norm=LayerNorm(norm_eps),
        positions=Rotary(theta, d_rotary=d_rotary, scaling=scaling),
        parallel=parallel,
        biased=biased,
        fused=True,
        tied=tied,
    )


def bloom_config(*, vocab_size, d_model, n_layer, n_head, norm_eps=1e-5, tied=True):
    """Make up a Bloom: layer norm, of the embeddings too; a bias for the distance; a network four times as wide.

    Parameters
    ----------
    vocab_size, d_model, n_layer, n_head : int
        Sizes.
    norm_eps : float, optional
        See `LayerNorm`.
    tied : bool, optional
        Whether the head is the table of embeddings.

    Returns
    -------
    DecoderConfig
        The configuration.

    References
    ----------
    Le Scao et al. (2022), "BLOOM", arXiv:2211.05100, section 3.2.
    """
    return DecoderConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_head=n_head,
        n_kv_head=n_head,
        d_head=d_model // n_head,
        feeds=(Dense(4 * d_model, activation="gelu_tanh", gated=False, bias=True),) * n_layer,
        norm=LayerNorm(norm_eps),
        positions=Alibi(),
        biased=PROJECTIONS,
        fused=True,
        embedding_norm=True,
        tied=tied,
    )
