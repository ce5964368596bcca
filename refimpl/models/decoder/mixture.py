"""A mixture of experts as a part of a causal block."""

from dataclasses import dataclass

from refimpl.arrays import add_prefix
from refimpl.blocks.mixture.layer import mixture_of_experts
from refimpl.models.decoder.parts import Dense


@dataclass(frozen=True)
class Mixture:
    """A mixture of gated experts.

    Attributes
    ----------
    n_expert : int
        Number of experts.
    n_chosen : int
        How many of them a token goes to.
    d_ff : int
        Width of an expert.
    activation : str
        Of the gates.
    softmax_over : {"chosen", "all"}
        Of the router.
    d_shared : int or None
        Width of an expert for all, which a token asks for by a sigmoid; by default there is none.
    capacity : int or None
        How many tokens of a sequence an expert takes; by default as many as come.
    """

    n_expert: int
    n_chosen: int
    d_ff: int
    activation: str = "silu"
    softmax_over: str = "chosen"
    d_shared: int | None = None
    capacity: int | None = None

    def __call__(self, x, params):
        """Send tokens to experts, and tell the logits of the router."""
        routing = {"n_chosen": self.n_chosen, "softmax_over": self.softmax_over, "capacity": self.capacity}
        return mixture_of_experts(x, None, params, **routing, activation=self.activation)

    def shapes(self, d_model):
        """List the shapes of the parameters.

        Parameters
        ----------
        d_model : int
            Width of the hidden states.

        Returns
        -------
        dict of (str, tuple of int)
            By key.
        """
        experts = {key: (self.n_expert, *shape) for key, shape in Dense(self.d_ff).shapes(d_model).items()}
        shapes = {"router.weight": (self.n_expert, d_model), **add_prefix("experts.", experts)}
        if self.d_shared is None:
            return shapes
        shared = add_prefix("shared.network.", Dense(self.d_shared).shapes(d_model))
        return {**shapes, **shared, "shared.opening.weight": (1, d_model)}
