"""The parts in which decoder-only models differ: settings that are called as the component that they set."""

from dataclasses import dataclass

from refimpl.blocks.feed_forward import feed_forward
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.rms_norm import rms_norm
from refimpl.positions.alibi import alibi_bias_at
from refimpl.positions.rotary import rotary


@dataclass(frozen=True)
class RmsNorm:
    """Root mean square normalisation, as Llama computes it.

    Attributes
    ----------
    eps : float
        Added to the mean square.
    """

    eps: float = 1e-6

    def __call__(self, x, params):
        """Normalise, as `rms_norm`."""
        return rms_norm(x, params, eps=self.eps, order="cast first")

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
        return {"weight": (d_model,)}


@dataclass(frozen=True)
class LayerNorm:
    """Layer normalisation, with a bias.

    Attributes
    ----------
    eps : float
        Added to the variance.
    """

    eps: float = 1e-5

    def __call__(self, x, params):
        """Normalise, as `layer_norm`."""
        return layer_norm(x, params, eps=self.eps)

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
        return {"weight": (d_model,), "bias": (d_model,)}


@dataclass(frozen=True)
class Rotary:
    """Rotary positions.

    Attributes
    ----------
    theta : float
        The ratio of wavelengths, `base` of `rotary`.
    d_rotary : int or None
        How many features of a head are turned; by default all.
    scaling : object or None
        A rule of `refimpl.positions.rotary_scaling`.
    """

    theta: float = 10000.0
    d_rotary: int | None = None
    scaling: object = None

    def rotate(self, heads, *, positions=None):
        """Turn queries or keys.

        Parameters
        ----------
        heads : array, shape (n_batch, n_head, n_seq, d_head)
            Queries or keys.
        positions : array of int, optional
            As for `rotary`.

        Returns
        -------
        y : array, shape (n_batch, n_head, n_seq, d_head)
            As `rotary` turns them.
        pullback : callable
            Maps dy to ``(dheads,)``.
        """
        return rotary(heads, positions=positions, base=self.theta, d_rotary=self.d_rotary, scaling=self.scaling)

    def of_attention(self):
        """Give the settings of an attention layer.

        Returns
        -------
        dict
            Of `grouped_query_self_attention`.
        """
        return {"rotate": self.rotate}


@dataclass(frozen=True)
class Alibi:
    """No positions but a bias that falls linearly with the distance."""

    def of_attention(self):
        """Give the settings of an attention layer.

        Returns
        -------
        dict
            Of `grouped_query_self_attention`.
        """
        return {"bias_at": alibi_bias_at}


@dataclass(frozen=True)
class Dense:
    """A feed-forward network, gated or not.

    Attributes
    ----------
    d_ff : int
        Its width.
    activation : str
        What bends, or opens the gate.
    gated : bool
        Whether it has a gate, as in Llama.
    bias : bool
        Whether it has biases.
    """

    d_ff: int
    activation: str = "silu"
    gated: bool = True
    bias: bool = False

    def __call__(self, x, params):
        """Feed forward; nothing is told beside."""
        y, feed_pullback = (gated_feed_forward if self.gated else feed_forward)(x, params, activation=self.activation)

        def pullback(dy):
            return feed_pullback(*dy)

        return (y,), pullback

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
        widening, narrowing = (("gate_proj", "up_proj"), "down_proj") if self.gated else (("linear1",), "linear2")
        sizes = {**dict.fromkeys(widening, (self.d_ff, d_model)), narrowing: (d_model, self.d_ff)}
        weights = {f"{key}.weight": shape for key, shape in sizes.items()}
        return weights | ({f"{key}.bias": shape[:1] for key, shape in sizes.items()} if self.bias else {})
