import numpy as np
import pytest

from refimpl.layers.shift import shifted_right


def test_each_position_reads_the_label_before_it():
    labels = np.array([[3, 4, 5], [6, -100, -100]])
    read = shifted_right(labels, start_id=1, pad_id=0)
    assert read.tolist() == [[1, 3, 4], [1, 6, 0]]
    assert labels.tolist() == [[3, 4, 5], [6, -100, -100]]


def test_no_labels():
    assert shifted_right(np.zeros((2, 0), np.int64), start_id=1, pad_id=0).shape == (2, 0)


@pytest.mark.parametrize(("labels", "error"), [(np.ones(3, np.int64), ValueError), (np.ones((2, 3)), TypeError)])
def test_bad_labels(labels, error):
    with pytest.raises(error, match="labels must"):
        shifted_right(labels, start_id=1, pad_id=0)
