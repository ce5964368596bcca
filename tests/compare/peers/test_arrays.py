import numpy as np
import pytest

from compare.peers.arrays import ArrayPeer
from refimpl.arrays import narrow


@pytest.mark.parametrize("x", [np.arange(4.0), narrow(np.arange(4.0), "bfloat16"), narrow(np.arange(4.0), "float16")])
def test_overlap_sees_views_in_every_dtype(x):
    """NumPy's own question, asked of 16-bit arrays, would be answered for copies in float32."""
    peer = ArrayPeer(None)
    assert peer.overlap(x, x)
    assert peer.overlap(x, x[1:])
    assert not peer.overlap(x, x.copy())
    assert not peer.overlap(x[:2], x[2:])
