import numpy as np
import torch

from refimpl.recurrent.gru import gru
from refimpl.recurrent.lstm import lstm
from tests.properties.draw_recurrent import stack_shapes


def random(shapes, seed=0):
    generator = np.random.default_rng(seed)
    return {key: generator.standard_normal(shape) for part in shapes for key, shape in part.items()}


def test_parameters_have_the_keys_and_shapes_of_torch():
    for kind, module in (
        ("rnn", torch.nn.RNN(3, 4, 2, bidirectional=True)),
        ("gru", torch.nn.GRU(3, 4, 2, bidirectional=True)),
        ("lstm", torch.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)),
    ):
        ours = random(stack_shapes(kind, 3, 4, 2, 2, 2 if kind == "lstm" else None))
        assert {key: x.shape for key, x in ours.items()} == {
            key: tuple(x.shape) for key, x in module.state_dict().items()
        }


def test_gradients_keep_the_order_of_the_parameters():
    params = dict(reversed(random(stack_shapes("gru", 3, 4, 2, 2)).items()))
    (y, h_last), pullback = gru(np.ones((2, 3, 3)), None, params, n_layer=2, bidirectional=True)
    assert list(pullback((y, h_last))[-1]) == list(params)


def test_the_last_states_stand_in_the_order_of_torch():
    """Layer 0, layer 0 reversed, layer 1, …: the last forward state is the last of y, the reverse one its first."""
    params = random(stack_shapes("lstm", 3, 4, 2, 2))
    (y, h_last, c_last), _ = lstm(np.ones((2, 5, 3)), None, None, params, n_layer=2, bidirectional=True)
    assert h_last.shape == c_last.shape == (4, 2, 4)
    np.testing.assert_array_equal(h_last[2], y[:, -1, :4])
    np.testing.assert_array_equal(h_last[3], y[:, 0, 4:])


def test_dropout_acts_between_layers_only():
    params = random(stack_shapes("gru", 3, 4, 2, 1))
    x = np.random.default_rng(1).standard_normal((2, 3, 3))
    nothing = np.zeros((1, 2, 3, 4), bool)
    (y, _), pullback = gru(x, None, params, n_layer=2, keep=nothing, rate=0.5)
    assert np.all(y[:, 0] != 0.0)
    dx, dparams = pullback((y, np.ones((2, 2, 4))))
    assert np.all(dparams["weight_ih_l1"] == 0.0)
    assert np.all(dx != 0.0)  # through the last state of the lower layer


def test_an_empty_batch_gives_an_empty_batch():
    params = random(stack_shapes("gru", 3, 4, 2, 2))
    (y, h_last), pullback = gru(np.ones((0, 5, 3)), None, params, n_layer=2, bidirectional=True)
    assert (y.shape, h_last.shape) == ((0, 5, 8), (4, 0, 4))
    dx, dparams = pullback((y, h_last))
    assert dx.shape == (0, 5, 3)
    assert all(np.all(gradient == 0.0) for gradient in dparams.values())
