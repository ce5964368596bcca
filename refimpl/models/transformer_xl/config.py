"""The sizes and settings of a Transformer-XL (Dai et al. 2019, arXiv:1901.02860)."""

from dataclasses import dataclass

from refimpl.arrays import check_flag, check_setting, integer, number


@dataclass(frozen=True)
class TransformerXLConfig:
    """Sizes and settings of a Transformer-XL.

    Attributes
    ----------
    vocab_size : int
        Number of tokens, sorted by frequency.
    cutoffs : tuple of int
        The first token of every cluster of the vocabulary but the first; empty for one cluster.
    d_model : int
        Width of the hidden states; even, for its halves hold sines and cosines.
    d_embed : int
        Width of the embeddings in the first cluster.
    n_head, d_head : int
        Number of attention heads, and the width of each; their product need not be `d_model`.
    n_layer : int
        Number of blocks.
    d_ff : int
        Width of the feed-forward layer.
    n_memory : int
        How many states of earlier segments are kept.
    div_val : int
        The ratio of the widths of neighbouring clusters; with 1 all share one table and one projection.
    pre_norm : bool
        Whether norms come before attention and feed-forward instead of after the residual sums.
    norm_eps : float
        Added to the variance inside every layer normalisation.
    same_length : bool
        Whether every query sees `n_memory` keys, itself counted, instead of all before it.
    clamp_len : int
        Distances beyond it count as it; 0 for no limit.
    own_biases : bool
        Whether every block has its own biases of content and position, or all share them.
    tie_projections : bool
        Whether the output uses the projections of the embedding, in all clusters but the first.

    Raises
    ------
    ValueError
        If a size is not a positive integer or a setting does not fit.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, sections 3.2, 3.3 and 4.

    Notes
    -----
    In `transformers`: ``d_inner`` is d_ff, ``mem_len`` n_memory, ``pre_lnorm`` pre_norm, ``untie_r`` own_biases, and
    ``proj_share_all_but_first`` tie_projections.
    """

    vocab_size: int
    cutoffs: tuple
    d_model: int
    d_embed: int
    n_head: int
    d_head: int
    n_layer: int
    d_ff: int
    n_memory: int
    div_val: int = 1
    pre_norm: bool = False
    norm_eps: float = 1e-5
    same_length: bool = False
    clamp_len: int = 0
    own_biases: bool = True
    tie_projections: bool = True

    def __post_init__(self):
        for name in ("vocab_size", "d_model", "d_embed", "n_head", "d_head", "n_layer", "d_ff", "div_val"):
            integer(name, getattr(self, name), at_least=1)
        for name in ("n_memory", "clamp_len"):
            integer(name, getattr(self, name), at_least=0)
        for name in ("pre_norm", "same_length", "own_biases", "tie_projections"):
            check_flag(name, getattr(self, name))
        number("norm_eps", self.norm_eps, above=0.0)
        check_setting("d_model", self.d_model, self.d_model % 2 == 0, "even")
        check_setting("cutoffs", self.cutoffs, isinstance(self.cutoffs, tuple), "a tuple")
        ends = [integer("cutoffs", cutoff, at_least=1) for cutoff in self.cutoffs] + [self.vocab_size]
        rising = all(ends[i] < ends[i + 1] for i in range(len(ends) - 1))
        check_setting("cutoffs", self.cutoffs, rising, f"rising, and below vocab_size = {self.vocab_size}")
        check_setting("div_val", self.div_val, self.widths[-1] > 0, "so small that the last cluster has a width")
        sees = not self.same_length or self.n_memory > 0
        check_setting("n_memory", self.n_memory, sees, "positive where same_length is True: a query would see no key")

    @property
    def widths(self):
        """Say how wide the embeddings of each cluster are.

        Returns
        -------
        tuple of int
            `d_embed`, and for each further cluster `div_val` times less.
        """
        found = [self.d_embed]
        for _ in self.cutoffs:
            found.append(found[-1] // self.div_val)
        return tuple(found)

    @property
    def table_cutoffs(self):
        """Say where the tables of the embedding begin.

        Returns
        -------
        tuple of int
            The cutoffs, or none where all clusters share one table.
        """
        return () if self.div_val == 1 else self.cutoffs

    @property
    def projected(self):
        """Say whether the embedding is projected.

        Returns
        -------
        bool
            False where the one table has the width of the model.
        """
        return self.div_val > 1 or self.d_embed != self.d_model
