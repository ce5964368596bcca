"""The sizes and settings of a CLIP (Radford et al. 2021, arXiv:2103.00020, table 20)."""

from dataclasses import dataclass

from refimpl.arrays import check_below, check_choice, check_multiple, check_positive, check_size

ACTIVATIONS = ("quick_gelu", "gelu", "gelu_tanh", "relu")


@dataclass(frozen=True)
class TowerConfig:
    """Sizes and settings of one of the two encoders.

    Attributes
    ----------
    d_model : int
        Width of the hidden states, a multiple of `n_head`.
    n_head : int
        Number of attention heads.
    n_layer : int
        Number of blocks.
    d_ff : int
        Width of the feed-forward layer.
    norm_eps : float
        Added to the variance inside every layer normalisation.
    activation : {"quick_gelu", "gelu", "gelu_tanh", "relu"}
        Of the feed-forward layer.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `d_model` is no multiple of `n_head`, `norm_eps` is not a positive number,
        or `activation` is unknown.
    """

    d_model: int
    n_head: int
    n_layer: int
    d_ff: int
    norm_eps: float = 1e-5
    activation: str = "quick_gelu"

    def __post_init__(self):
        for name in ("d_model", "n_head", "n_layer", "d_ff"):
            check_size(name, getattr(self, name))
        check_multiple("d_model", self.d_model, n_head=self.n_head)
        check_positive("norm_eps", self.norm_eps)
        check_choice("activation", self.activation, ACTIVATIONS)


@dataclass(frozen=True)
class ClipConfig:
    """Sizes and settings of a CLIP.

    Attributes
    ----------
    text, image : TowerConfig
        The two encoders.
    vocab_size : int
        Number of tokens.
    n_position : int
        The longest text.
    image_size : int
        Height and width of an image, a multiple of `patch_size`.
    patch_size : int
        Height and width of a patch.
    n_channel : int
        Number of colours.
    d_shared : int
        Size of the vectors of images and texts alike.
    eos_id : int or None
        The token that ends a text, and stands for it; None takes the largest id of a text for it, as the first
        published configurations did.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `image_size` is no multiple of `patch_size`, or `eos_id` is no token.

    References
    ----------
    Radford et al. (2021), "Learning Transferable Visual Models From Natural Language Supervision", arXiv:2103.00020,
    section 2.4.
    """

    text: TowerConfig
    image: TowerConfig
    vocab_size: int
    n_position: int
    image_size: int
    patch_size: int
    d_shared: int
    n_channel: int = 3
    eos_id: int | None = None

    def __post_init__(self):
        for name in ("vocab_size", "n_position", "image_size", "patch_size", "d_shared", "n_channel"):
            check_size(name, getattr(self, name))
        check_multiple("image_size", self.image_size, patch_size=self.patch_size)
        if self.eos_id is not None:
            check_size("eos_id", self.eos_id, at_least=0)
            check_below("eos_id", self.eos_id, vocab_size=self.vocab_size)

    @property
    def n_patch(self):
        """Count the patches of an image.

        Returns
        -------
        int
            Their number.
        """
        return (self.image_size // self.patch_size) * (self.image_size // self.patch_size)
