"""The sizes and parts of a decoder-only model, and the shapes of its parameters."""

from dataclasses import dataclass

from refimpl.arrays import add_prefix, check_multiple, check_setting, integer
from refimpl.models.decoder.parts import Alibi, LayerNorm, RmsNorm, Rotary

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes and parts of a decoder-only model.

    Attributes
    ----------
    vocab_size : int
        Number of tokens.
    d_model : int
        Width of the hidden states.
    n_head, n_kv_head : int
        Number of heads of queries, and of keys and values; the second divides the first.
    d_head : int
        Width of a head.
    feeds : tuple of (Dense or Mixture)
        The feed-forward network of every layer; as many as there are layers.
    norm : RmsNorm or LayerNorm
        Before attention, before the feed-forward network, and at the end.
    positions : Rotary or Alibi
        How attention comes to know them.
    parallel : bool
        Whether attention and the feed-forward network stand side by side (GPT-NeoX).
    biased : tuple of str
        Which of the projections ``q_proj``, ``k_proj``, ``v_proj``, ``o_proj`` have a bias.
    fused : bool
        Whether one projection ``qkv_proj`` gives queries, keys and values.
    embedding_norm : bool
        Whether embeddings are normalised (Bloom).
    window : int or None
        How many positions a query sees, itself among them; by default all (Mistral).
    tied : bool
        Whether logits are inner products with the embeddings of the tokens.

    Raises
    ------
    ValueError
        If a size is not positive, or two sizes or parts do not fit each other.
    """

    vocab_size: int
    d_model: int
    n_head: int
    n_kv_head: int
    d_head: int
    feeds: tuple
    norm: RmsNorm | LayerNorm
    positions: Rotary | Alibi
    parallel: bool = False
    biased: tuple = ()
    fused: bool = False
    embedding_norm: bool = False
    window: int | None = None
    tied: bool = False

    def __post_init__(self):
        for name in ("vocab_size", "d_model", "n_head", "n_kv_head", "d_head"):
            integer(name, getattr(self, name), at_least=1)
        check_multiple("n_head", self.n_head, n_kv_head=self.n_kv_head)
        check_setting("feeds", self.feeds, isinstance(self.feeds, tuple) and self.feeds, "a tuple, one for each layer")
        unknown = set(self.biased) - set(PROJECTIONS)
        check_setting("biased", self.biased, not unknown, f"some of {', '.join(PROJECTIONS)}")
        n_biased = len({*PROJECTIONS[:3]} & {*self.biased})
        check_setting("biased", self.biased, not self.fused or n_biased in (0, 3), "all of q, k and v or none: fused")
        if self.window is not None:
            integer("window", self.window, at_least=1)

    @property
    def n_layer(self):
        """Count the layers.

        Returns
        -------
        int
            Their number.
        """
        return len(self.feeds)

    def attention_settings(self):
        """Give the settings of every attention layer.

        Returns
        -------
        dict
            Of `grouped_query_self_attention`.
        """
        return {"n_head": self.n_head, "n_kv_head": self.n_kv_head, **self.positions.of_attention()}


def decoder_shapes(config):
    """List the shapes of the parameters.

    Parameters
    ----------
    config : DecoderConfig
        The sizes and parts.

    Returns
    -------
    dict of (str, tuple of int)
        By key; ``head.weight`` only where the head is not tied.
    """
    table = (config.vocab_size, config.d_model)
    norm = config.norm.shapes(config.d_model)
    embeddings = {"token.weight": table, **(add_prefix("norm.", norm) if config.embedding_norm else {})}
    layers = [
        {
            **add_prefix(f"layers.{i}.norm1.", norm),
            **add_prefix(f"layers.{i}.self_attn.", _attention_shapes(config)),
            **add_prefix(f"layers.{i}.norm2.", norm),
            **add_prefix(f"layers.{i}.feed.", feed.shapes(config.d_model)),
        }
        for i, feed in enumerate(config.feeds)
    ]
    shapes = {**add_prefix("embeddings.", embeddings)}
    for layer in layers:
        shapes = {**shapes, **layer}
    return {**shapes, **add_prefix("norm.", norm), **({} if config.tied else {"head.weight": table})}


def _attention_shapes(config):
    d_q, d_kv = config.n_head * config.d_head, config.n_kv_head * config.d_head
    sizes = {"q_proj": d_q, "k_proj": d_kv, "v_proj": d_kv}
    if config.fused:
        sizes = {"qkv_proj": sum(sizes.values())}
    weights = {f"{key}.weight": (size, config.d_model) for key, size in sizes.items()}
    biased = {*config.biased, *(["qkv_proj"] if "q_proj" in config.biased else [])}
    biases = {f"{key}.bias": (size,) for key, size in {**sizes, "o_proj": config.d_model}.items() if key in biased}
    return {**weights, "o_proj.weight": (config.d_model, d_q), **biases}
