from dataclasses import replace

import numpy as np
import pytest

from refimpl.models.transformer_xl.heads import transformer_xl_loss
from refimpl.models.transformer_xl.segments import transformer_xl_segments
from tests.models.transformer_xl.small import CONFIG, TOKEN_IDS, no_memory, params

PARAMS = params()
TARGETS = np.roll(TOKEN_IDS, -1, axis=1)
MEMORY = np.random.default_rng(1).standard_normal((2, 2, 3, 6))


def test_the_gradient_through_the_memory_is_that_of_the_whole_text():
    """Where the memory covers the text; the losses of segments are weighed by their tokens."""
    config = replace(CONFIG, n_memory=13)
    (loss, _), whole_pullback = transformer_xl_loss(TOKEN_IDS, TARGETS, MEMORY, PARAMS, config=config)
    losses, pullback = transformer_xl_segments(
        TOKEN_IDS, TARGETS, MEMORY, PARAMS, config=config, n_segment=4, through_memory=True
    )
    shares = [np.asarray(share) for share in (0.4, 0.4, 0.2)]
    assert abs(sum(a * b for a, b in zip(shares, losses, strict=True)) - loss) <= 64 * np.finfo(float).eps * loss
    (dmemory, dparams), (want_memory, want) = pullback(tuple(shares)), whole_pullback((np.asarray(1.0), None))
    for key, gradient in {**want, "memory": want_memory}.items():
        error = np.max(np.abs({**dparams, "memory": dmemory}[key] - gradient))
        assert error <= 2**12 * np.finfo(float).eps * np.max(np.abs(gradient)), key


def test_by_default_the_gradient_stops_at_the_memory():
    _, pullback = transformer_xl_segments(TOKEN_IDS, TARGETS, MEMORY, PARAMS, config=CONFIG, n_segment=4)
    zero, one = np.asarray(0.0), np.asarray(1.0)
    dmemory, _ = pullback((zero, zero, one))
    assert not np.any(dmemory)
    dmemory, _ = pullback((one, zero, zero))
    assert np.any(dmemory)


def test_one_segment_is_the_whole_text():
    (loss, _), want_pullback = transformer_xl_loss(TOKEN_IDS, TARGETS, MEMORY, PARAMS, config=CONFIG)
    losses, pullback = transformer_xl_segments(TOKEN_IDS, TARGETS, MEMORY, PARAMS, config=CONFIG, n_segment=99)
    assert losses == (loss,)
    np.testing.assert_array_equal(pullback((np.asarray(1.0),))[0], want_pullback((np.asarray(1.0), None))[0])


@pytest.mark.parametrize(
    ("token_ids", "targets", "n_segment", "message"),
    [
        (TOKEN_IDS, TARGETS, 0, "n_segment must be at least 1, got 0"),
        (TOKEN_IDS, TARGETS[:, 1:], 2, r"targets must have shape \(2, 10\), got \(2, 9\)"),
        (TOKEN_IDS[:, :0], TARGETS[:, :0], 2, "n_seq must be at least 1, got 0"),
    ],
)
def test_bad_input(token_ids, targets, n_segment, message):
    with pytest.raises(ValueError, match=message):
        transformer_xl_segments(token_ids, targets, no_memory(CONFIG, 2), PARAMS, config=CONFIG, n_segment=n_segment)
