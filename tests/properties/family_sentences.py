"""What sentence encoders are trained with and give: the loss of masked tokens, and the embedding of a sentence."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.models.masked_token_loss import masked_token_loss
from refimpl.models.sentence_embedding import sentence_embedding
from tests.properties.component import Call, Component
from tests.properties.draw_layers import SCALES, SEEDS

NEVER = 9  # no array has so many axes


@st.composite
def masked_token_loss_calls(draw):
    """Positions may be drawn twice: then both count, and their gradients add up."""
    n_batch, n_seq, d_model, vocab_size, n_masked = draw(strategies.sizes(5))
    x = draw(strategies.floating((n_batch, n_seq, d_model), scale=draw(SCALES)))
    positions = draw(strategies.ids((n_masked,), n_batch * n_seq))
    targets = draw(strategies.ids((n_masked,), vocab_size))
    params = draw(strategies.params(*strategies.linear_shapes(d_model, vocab_size)))
    return Call({"x": x, "positions": positions, "targets": targets}, params, {}, draw(SEEDS))


@st.composite
def sentence_embedding_calls(draw):
    """Tokens may be anywhere, and some sequences may have none."""
    n_batch, n_seq, d_model = draw(strategies.shapes(min_rank=3, max_rank=3))
    x = draw(strategies.floating((n_batch, n_seq, d_model), scale=draw(SCALES)))
    is_token = draw(strategies.masks((n_batch, n_seq), may_broadcast=False))
    return Call({"x": x}, None, {"is_token": is_token}, draw(SEEDS))


COMPONENTS = [
    # Positions count the batch laid end to end: they do not follow where it is permuted.
    Component(masked_token_loss, masked_token_loss_calls(), ("x", "params"), batch_rank=NEVER),
    Component(sentence_embedding, sentence_embedding_calls(), ("x",), batch_rank=3),
]
