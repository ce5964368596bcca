"""The sizes and settings of a Flamingo (Alayrac et al. 2022, arXiv:2204.14198, table 5)."""

from dataclasses import dataclass, fields

from refimpl.arrays import check_below, check_multiple, check_positive, check_size


@dataclass(frozen=True)
class FlamingoConfig:
    """Sizes and settings of a Flamingo.

    Attributes
    ----------
    vocab_size : int
        Number of tokens.
    n_position : int
        The longest text.
    d_model : int
        Width of the hidden states of the language model, a multiple of `n_head`.
    n_head : int
        Number of attention heads of the language model, and of the gated blocks.
    n_layer : int
        Number of blocks of the language model.
    d_ff : int
        Width of the feed-forward layers of the language model and of the gated blocks.
    every : int
        A gated block stands before the first of every so many blocks.
    image_id : int
        The token that stands for an image in a text.
    d_visual : int
        Width of the features of images, a multiple of `n_visual_head`.
    n_visual_head, n_visual_layer, d_visual_ff : int
        Heads, blocks and feed-forward width of the resampler.
    n_latent : int
        Number of vectors that it makes of an image.
    n_time : int
        The most pictures of a film.
    norm_eps : float
        Added to the variance inside every layer normalisation.

    Raises
    ------
    ValueError
        If a size is not a positive integer, a width is no multiple of its heads, `image_id` is no token, or `norm_eps`
        is not a positive number.

    References
    ----------
    Alayrac et al. (2022), "Flamingo", arXiv:2204.14198, appendix A.1.
    """

    vocab_size: int
    n_position: int
    d_model: int
    n_head: int
    n_layer: int
    d_ff: int
    every: int
    image_id: int
    d_visual: int
    n_visual_head: int
    n_visual_layer: int
    d_visual_ff: int
    n_latent: int = 64
    n_time: int = 8
    norm_eps: float = 1e-5

    def __post_init__(self):
        for field in fields(self):
            if field.type is int:
                check_size(field.name, getattr(self, field.name), at_least=0 if field.name == "image_id" else 1)
        check_multiple("d_model", self.d_model, n_head=self.n_head)
        check_multiple("d_visual", self.d_visual, n_visual_head=self.n_visual_head)
        check_below("image_id", self.image_id, vocab_size=self.vocab_size)
        check_positive("norm_eps", self.norm_eps)
