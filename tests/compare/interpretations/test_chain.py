import numpy as np
import pytest

from compare.interpretations.chain import MOVES, Chain
from refimpl.arrays import array_namespace
from refimpl.layers.linear import linear
from refimpl.layers.softmax import softmax
from tests.arrays.samples import SAMPLES


def evaluated(sample, lift):
    arguments = {name: lift(x) for name, x in sample.arguments().items()}
    result = sample.run(array_namespace(*arguments.values()), arguments)
    return result if isinstance(result, list) else [result]


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.shapes], ids=str)
def test_every_word_has_the_values_of_numpy_and_what_moves_elements_makes_nothing_wait(sample):
    for want, got in zip(evaluated(sample, np.asarray), evaluated(sample, Chain), strict=True):
        np.testing.assert_array_equal(got.value if isinstance(got, Chain) else got, want)
        alone = sample.text.startswith(f"xp.{sample.word}(") and sample.text.count("xp.") == 1
        if alone and isinstance(got, Chain):
            assert (got.length == 0) == (sample.word in MOVES)


def test_the_longest_operand_counts():
    x = Chain(np.ones(3))
    long = x + 1.0 + 1.0 + 1.0
    assert (x.length, long.length, (long * x).length, (x - long).length, (2.0 / x).length) == (0, 3, 4, 4, 1)
    assert (long[0].length, (-long).length, (x < long).length) == (3, 4, 4)


def test_chains_of_components_by_hand():
    x, weight = Chain(np.ones((2, 3))), Chain(np.ones((4, 3)))
    y, pullback = linear(x, {"weight": weight, "bias": Chain(np.ones(4))})
    assert y.length == 2  # a product and a sum
    dx, dparams = pullback(Chain(np.ones((2, 4))))
    assert (dx.length, dparams["bias"].length) == (1, 1)
    # The maximum, is it finite, else 0, subtract, exp, sum, is it 0, else 1, divide.
    assert softmax(x)[0].length == 9
