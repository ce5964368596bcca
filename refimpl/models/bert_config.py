"""The sizes and settings of a BERT-type encoder (Devlin et al. 2018, arXiv:1810.04805, section 3)."""

import math
from dataclasses import dataclass, fields

ACTIVATIONS = ("gelu", "gelu_tanh", "relu")


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
        Number of segments (2: sentence A and sentence B).
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

    def __post_init__(self):
        for field in fields(self):
            if field.type is int:
                _check_int(field.name, getattr(self, field.name), at_least=0 if field.name == "pad_id" else 1)
        if self.d_model % self.n_head:
            raise ValueError(f"d_model must be a multiple of n_head = {self.n_head}, got {self.d_model}")
        eps = self.norm_eps
        if not isinstance(eps, (int, float)) or isinstance(eps, bool) or not 0 < eps < math.inf:
            raise ValueError(f"norm_eps must be a positive finite number, got {eps!r}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}")
        if self.pad_id >= self.vocab_size:
            raise ValueError(f"pad_id must be below vocab_size = {self.vocab_size}, got {self.pad_id}")


def _check_int(name, value, *, at_least):
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be an integer of at least {at_least}, got {value!r}")
