"""The sizes and settings of a Longformer (Beltagy, Peters, Cohan 2020, arXiv:2004.05150, section 5)."""

from dataclasses import dataclass, fields

from refimpl.arrays import check_below, check_choice, check_multiple, check_positive, check_size

ACTIVATIONS = ("gelu", "gelu_tanh", "relu")


@dataclass(frozen=True)
class LongformerConfig:
    """Sizes and settings of a Longformer.

    Attributes
    ----------
    vocab_size : int
        Number of tokens.
    n_position : int
        Number of rows of the learned positions; those up to that of `pad_id` belong to no token.
    n_segment : int
        Number of segments.
    d_model : int
        Width of the hidden states, a multiple of `n_head`.
    n_head : int
        Number of attention heads.
    reaches : tuple of int
        For each block, how many neighbours a token sees to each side: half of ``attention_window`` of Hugging Face.
    d_ff : int
        Width of the feed-forward layer.
    norm_eps : float
        Added to the variance inside every layer normalisation.
    activation : {"gelu", "gelu_tanh", "relu"}
        Of the feed-forward layer.
    pad_id : int
        Token that pads a short text.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `d_model` is no multiple of `n_head`, `norm_eps` is not a positive number,
        `activation` is unknown, or `pad_id` is neither a token nor a position.

    References
    ----------
    Beltagy, Peters, Cohan (2020), "Longformer", arXiv:2004.05150, sections 3 and 5.
    """

    vocab_size: int
    n_position: int
    n_segment: int
    d_model: int
    n_head: int
    reaches: tuple
    d_ff: int
    norm_eps: float = 1e-12
    activation: str = "gelu"
    pad_id: int = 1

    def __post_init__(self):
        sizes = {field.name: getattr(self, field.name) for field in fields(self) if field.type is int}
        reaches = {f"reaches[{i}]": reach for i, reach in enumerate(self.reaches)}
        for name, value in {**sizes, **reaches}.items():
            check_size(name, value, at_least=0 if name == "pad_id" else 1)
        if not self.reaches:
            raise ValueError("reaches must hold one reach for each block, got none")
        check_multiple("d_model", self.d_model, n_head=self.n_head)
        check_positive("norm_eps", self.norm_eps)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_below("pad_id", self.pad_id, vocab_size=self.vocab_size, n_position=self.n_position)

    @property
    def n_layer(self):
        """Count the blocks.

        Returns
        -------
        int
            Their number.
        """
        return len(self.reaches)
