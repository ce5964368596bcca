"""The sizes and settings of GPT-1, GPT-2 and GPT-3."""

from dataclasses import dataclass

from refimpl.arrays import check_choice, check_flag, check_multiple, check_positive, check_size

ACTIVATIONS = ("gelu_tanh", "gelu", "relu", "silu")
SIZES = ("vocab_size", "n_position", "d_model", "n_head", "n_layer", "d_ff", "n_label")
TOKENS = ("pad_id", "bos_id", "eos_id")


@dataclass(frozen=True)
class GptConfig:
    """Sizes and settings of a GPT.

    Attributes
    ----------
    vocab_size : int
        Number of tokens.
    n_position : int
        Number of learned positions, the longest text the model reads.
    d_model : int
        Width of the hidden states, a multiple of `n_head`.
    n_head : int
        Number of attention heads.
    n_layer : int
        Number of blocks.
    d_ff : int
        Width of the feed-forward layer.
    norm_first : bool
        Whether each block normalises before its sub-layers, and the model once more at its end (GPT-2, GPT-3), or
        after them (GPT-1).
    window : int or None
        How many keys a query of an odd layer sees, its own among them (GPT-3); None where every layer sees all.
    norm_eps : float
        Added to the variance inside every layer normalisation.
    activation : {"gelu_tanh", "gelu", "relu", "silu"}
        Of the feed-forward layer.
    tied : bool
        Whether the head that scores the next token is the token table itself.
    n_label : int
        Number of classes of the sequence classification head.
    pad_id, bos_id : int or None
        Tokens that pad a short text and begin one.  The model itself does not look at them, nor at `eos_id`, and they
        need not be in its vocabulary.
    eos_id : int, tuple of int or None
        The token that ends a text, or each of those that do.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `d_model` is no multiple of `n_head`, `norm_eps` is not a positive
        number, `activation` is unknown, a flag is no flag, or a token no integer.

    References
    ----------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", section 4.1.
    Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3.
    Brown et al. (2020), "Language Models are Few-Shot Learners", arXiv:2005.14165, section 2.1 and table 2.1.
    """

    vocab_size: int
    n_position: int
    d_model: int
    n_head: int
    n_layer: int
    d_ff: int
    norm_first: bool = True
    window: int | None = None
    norm_eps: float = 1e-5
    activation: str = "gelu_tanh"
    tied: bool = True
    n_label: int = 2
    pad_id: int | None = None
    bos_id: int | None = None
    eos_id: int | tuple[int, ...] | None = None

    def __post_init__(self):
        for name in (*SIZES, *(["window"] if self.window is not None else [])):
            check_size(name, getattr(self, name))
        check_multiple("d_model", self.d_model, n_head=self.n_head)
        for name in ("norm_first", "tied"):
            check_flag(name, getattr(self, name))
        check_positive("norm_eps", self.norm_eps)
        check_choice("activation", self.activation, ACTIVATIONS)
        for name in TOKENS:
            token = getattr(self, name)
            several = name == "eos_id" and isinstance(token, tuple) and token
            if token is not None and not all(map(_is_integer, token if several else (token,))):
                or_several = " or a tuple of integers" if name == "eos_id" else ""
                raise ValueError(f"{name} must be None or an integer{or_several}, got {token!r}")


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)
