"""The sizes and settings of an encoder–decoder Transformer (Vaswani et al. 2017, arXiv:1706.03762, table 3)."""

from dataclasses import dataclass, fields

from refimpl.arrays import check_below, check_choice, check_flag, check_multiple, check_positive, check_size

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
POSITIONS = ("interleaved", "concatenated", "learned")


@dataclass(frozen=True)
class EncoderDecoderConfig:
    """Sizes and settings of an encoder–decoder Transformer.

    Attributes
    ----------
    vocab_size : int
        Number of tokens, of source and target alike.
    n_position : int
        The longest sequence the model is meant for; learned positions end there.
    d_model : int
        Width of the hidden states, a multiple of both numbers of heads.
    n_head, n_decoder_head : int
        Numbers of attention heads of the encoder and of the decoder.
    n_layer, n_decoder_layer : int
        Numbers of blocks of the encoder and of the decoder.
    d_ff, d_decoder_ff : int
        Widths of the feed-forward layers of the encoder and of the decoder.
    positions : {"interleaved", "concatenated", "learned"}
        Sinusoidal positions in one of two layouts, or learned ones.
    position_offset : int
        So many rows of the learned positions stand before that of the first token.
    scale_embedding : bool
        Whether embedded tokens are multiplied by ``sqrt(d_model)``.
    embedding_norm : bool
        Whether embedded sequences are normalised.
    norm_first : bool
        Whether the blocks normalise before each part, not after.
    final_norm : bool
        Whether what the last block of each half returns is normalised.
    norm_eps : float
        Added to the variance inside every layer normalisation.
    activation : {"relu", "gelu", "gelu_tanh", "silu"}
        Of the feed-forward layers.
    pad_id : int
        Token that pads a short sequence; what it means is never trained.
    start_id : int
        Token that every target begins with.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `d_model` is no multiple of a number of heads, a setting is unknown, or an
        id is not a token.

    Notes
    -----
    Vaswani et al. 2017: interleaved, scaled, post-norm, relu.  Marian: concatenated, scaled.  Bart: learned with an
    offset of 2, embedding norm.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.
    Junczys-Dowmunt et al. (2018), "Marian: Fast Neural Machine Translation in C++", arXiv:1804.00344.
    Lewis et al. (2019), "BART", arXiv:1910.13461, section 2.1.
    """

    vocab_size: int
    n_position: int
    d_model: int
    n_head: int
    n_decoder_head: int
    n_layer: int
    n_decoder_layer: int
    d_ff: int
    d_decoder_ff: int
    positions: str = "interleaved"
    position_offset: int = 0
    scale_embedding: bool = True
    embedding_norm: bool = False
    norm_first: bool = False
    final_norm: bool = False
    norm_eps: float = 1e-5
    activation: str = "relu"
    pad_id: int = 0
    start_id: int = 0

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int:
                at_least = 0 if field.name in ("position_offset", "pad_id", "start_id") else 1
                check_size(field.name, value, at_least=at_least)
            if field.type is bool:
                check_flag(field.name, value)
        check_multiple("d_model", self.d_model, n_head=self.n_head, n_decoder_head=self.n_decoder_head)
        check_positive("norm_eps", self.norm_eps)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("positions", self.positions, POSITIONS)
        for name in ("pad_id", "start_id"):
            check_below(name, getattr(self, name), vocab_size=self.vocab_size)
        if self.position_offset and self.positions != "learned":
            raise ValueError(f"position_offset must be 0 where positions are not learned, got {self.position_offset}")
