"""The sizes and settings of a T5 (Raffel et al. 2020, arXiv:1910.10683, section 3.1.1)."""

from dataclasses import dataclass, fields

from refimpl.arrays import check_below, check_choice, check_flag, check_positive, check_size

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")


@dataclass(frozen=True)
class T5Config:
    """Sizes and settings of a T5.

    Attributes
    ----------
    vocab_size : int
        Number of tokens, of source and target alike.
    d_model : int
        Width of the hidden states.
    d_head : int
        Width of each attention head; ``n_head * d_head`` need not be `d_model`.
    n_head : int
        Number of attention heads.
    n_layer, n_decoder_layer : int
        Numbers of blocks of the encoder and of the decoder.
    d_ff : int
        Width of the feed-forward layers.
    n_bucket : int
        Number of groups of distances, see `refimpl.positions.bucketed.bucketed_bias`.
    max_distance : int
        From this distance on all share the last group.
    norm_eps : float
        Added to the mean square inside every norm.
    activation : {"relu", "gelu", "gelu_tanh", "silu"}
        Of the feed-forward layers.
    gated : bool
        Whether they are gated, as in T5 1.1.
    scale_logits : bool
        Whether what the decoder gives is multiplied by ``d_model ** -0.5`` before it is scored, as in the first T5.
    pad_id : int
        Token that pads a short sequence.
    start_id : int
        Token that every target begins with.

    Raises
    ------
    ValueError
        If a size is not a positive integer, the buckets do not fit the largest distance, a setting is unknown, or an id
        is not a token.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, sections 2.1 and 3.1.1.
    """

    vocab_size: int
    d_model: int
    d_head: int
    n_head: int
    n_layer: int
    n_decoder_layer: int
    d_ff: int
    n_bucket: int = 32
    max_distance: int = 128
    norm_eps: float = 1e-6
    activation: str = "relu"
    gated: bool = False
    scale_logits: bool = True
    pad_id: int = 0
    start_id: int = 0

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int:
                at_least = 0 if field.name in ("pad_id", "start_id") else 1
                check_size(field.name, value, at_least=at_least)
            if field.type is bool:
                check_flag(field.name, value)
        check_positive("norm_eps", self.norm_eps)
        check_choice("activation", self.activation, ACTIVATIONS)
        if self.n_bucket < 4 or self.n_bucket % 2:
            raise ValueError(f"n_bucket must be even and at least 4, got {self.n_bucket}")
        if self.max_distance <= self.n_bucket // 2:
            raise ValueError(f"max_distance must be greater than {self.n_bucket // 2}, got {self.max_distance}")
        for name in ("pad_id", "start_id"):
            check_below(name, getattr(self, name), vocab_size=self.vocab_size)
