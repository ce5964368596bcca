import numpy as np
import pytest

from refimpl.attention.cache.key_value import append, empty_cache
from refimpl.generation.reader import Model, reader_of, reorder_layers, rewind_layers
from refimpl.generation.text import prompt
from tests.generation.toy import Toy


def layers(n_batch=2, n_key=3):
    k = np.arange(2.0 * n_batch * n_key).reshape(n_batch, 1, n_key, 2)
    return tuple(append(empty_cache(n_batch, 1, 2, like=k), k * factor, k) for factor in (1.0, 10.0))


def test_every_layer_is_reordered_and_rewound():
    swapped = reorder_layers(layers(), np.array([1, 1, 0]))
    assert [layer.k.shape[0] for layer in swapped] == [3, 3]
    np.testing.assert_array_equal(swapped[1].k[2], layers()[1].k[0])
    assert [layer.k.shape[2] for layer in rewind_layers(layers(), 2)] == [1, 1]


def test_what_an_encoder_read_is_not_taken_back():
    written, read = layers()
    [(back, still)] = rewind_layers(((written, read),), 2)
    assert (back.k.shape[2], still) == (1, read)


@pytest.mark.parametrize("use_cache", [True, False])
def test_reading_in_pieces_going_back_and_on(use_cache):
    toy = Toy()
    tokens = np.array([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
    whole, _ = reader_of(toy.model()).read(prompt(tokens))
    reader = reader_of(toy.model(use_cache=use_cache))
    first, reader = reader.read(prompt(tokens[:, :3]))
    astray, gone = reader.read(prompt(np.concatenate([tokens[:, :3], [[6], [6]]], axis=1)))
    assert astray.shape[1] == 1
    reader = gone.back_to(2)
    assert (reader.n_read, gone.n_read) == (2, 4)
    rest, reader = reader.read(prompt(tokens))
    np.testing.assert_array_equal(np.concatenate([first[:, :2], rest], axis=1), whole)
    assert reader.back_to(9) is reader
    swapped, _ = reader.rows(np.array([1, 0])).read(prompt(np.concatenate([tokens[::-1], [[0], [0]]], axis=1)))
    want, _ = reader_of(toy.model()).read(prompt(np.concatenate([tokens[::-1], [[0], [0]]], axis=1)))
    np.testing.assert_array_equal(swapped[:, -1], want[:, -1])


def test_a_step_function_is_a_model():
    step = Toy().step
    assert reader_of(step).model == Model(step)
    with pytest.raises(TypeError, match="model must be a Model or its step function, got int"):
        reader_of(3)
