"""The sizes and settings of a BERT-type encoder (Devlin et al. 2018, arXiv:1810.04805, section 3)."""

from dataclasses import dataclass, fields

from refimpl.arrays import check_below, check_choice, check_multiple, check_positive, check_size

ACTIVATIONS = ("gelu", "gelu_tanh", "relu")
CHOICES = {
    "activation": ACTIVATIONS,
    "pooler_activation": ("tanh", "relu"),
    "head_activation": ("", *ACTIVATIONS),
    "positions_after_padding": (False, True),
}
MAY_BE_0 = ("n_segment", "pad_id", "d_embed", "n_block")


@dataclass(frozen=True)
class BertConfig:
    """Sizes and settings of a BERT-type encoder.

    Attributes
    ----------
    vocab_size : int
        Number of tokens.
    n_position : int
        Number of learned positions, the longest sequence the model reads.
    n_segment : int
        Number of segments (2: sentence A and sentence B; 0: the model knows none, as DistilBERT).
    d_model : int
        Width of the hidden states, a multiple of `n_head`.
    n_head : int
        Number of attention heads.
    n_layer : int
        Number of encoder blocks.
    d_ff : int
        Width of the feed-forward layer.
    norm_eps : float
        Added to the variance inside every layer normalisation.
    activation : {"gelu", "gelu_tanh", "relu"}
        Of the feed-forward layer and of the masked-token head; "gelu" is the exact one, with erf.
    n_label : int
        Number of classes of the sequence classification head.
    pad_id : int
        Token that pads a short sequence.
    d_embed : int
        Width of the embeddings where they are mapped to `d_model` (ALBERT); 0 where they have it already.
    n_block : int
        Number of blocks with parameters of their own, which the layers share in turn (ALBERT); 0 for `n_layer`.
    positions_after_padding : bool
        Whether tokens are counted from ``pad_id + 1``, and padding has position `pad_id` (RoBERTa).
    pooler_activation : {"tanh", "relu"}
        Of the pooler ("relu" in DistilBERT).
    head_activation : {"", "gelu", "gelu_tanh", "relu"}
        Of the masked-token head, where it is not `activation`: always "gelu" in RoBERTa.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `d_model` is no multiple of `n_head`, `norm_eps` is not a
        positive number, `activation` is unknown, or `pad_id` is not a token.

    References
    ----------
    Devlin, Chang, Lee, Toutanova 2018, arXiv:1810.04805, section 3 and appendix A.2.

    Notes
    -----
    BERT adds 1e-12 inside the normalisation where `torch.nn.LayerNorm` adds 1e-5: a setting of the
    checkpoint, never of the code.
    """

    vocab_size: int
    n_position: int
    n_segment: int
    d_model: int
    n_head: int
    n_layer: int
    d_ff: int
    norm_eps: float = 1e-12
    activation: str = "gelu"
    n_label: int = 2
    pad_id: int = 0
    d_embed: int = 0
    n_block: int = 0
    positions_after_padding: bool = False
    pooler_activation: str = "tanh"
    head_activation: str = ""

    def __post_init__(self):
        for field in fields(self):
            if field.type is int:
                check_size(field.name, getattr(self, field.name), at_least=0 if field.name in MAY_BE_0 else 1)
        check_multiple("d_model", self.d_model, n_head=self.n_head)
        check_positive("norm_eps", self.norm_eps)
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_below("pad_id", self.pad_id, vocab_size=self.vocab_size)
        if self.n_block > self.n_layer:
            raise ValueError(f"n_block must be at most n_layer = {self.n_layer}, got {self.n_block}")

    def block_of(self, layer):
        """Say which block a layer runs.

        Parameters
        ----------
        layer : int
            The layer.

        Returns
        -------
        int
            The layer itself, or the block that it shares with its neighbours.
        """
        return layer * (self.n_block or self.n_layer) // self.n_layer
