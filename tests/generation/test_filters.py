import numpy as np
import pytest
import torch
from transformers.generation import logits_process as theirs

from compare.cases.bug import rewritten
from refimpl.generation import filters
from refimpl.generation.filters import Filters, min_p, temperature, top_k, top_p
from refimpl.layers.softmax import softmax

LOGITS = np.log(np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]]))


def kept(logits):
    return np.isfinite(logits).tolist()


def by_transformers(warper, logits):
    ids = torch.zeros((len(logits), 1), dtype=torch.long)
    return warper(ids, torch.tensor(logits)).numpy()


SETTINGS = [0.0, 0.05, 0.3, 0.8, 0.97]  # for 1, transformers has no top-p filter
PAIRS = [
    *((top_k, {"k": k}, theirs.TopKLogitsWarper(k)) for k in (1, 2, 7, 40, 100)),
    *((top_p, {"p": p}, theirs.TopPLogitsWarper(p)) for p in SETTINGS),
    *((min_p, {"p": p}, theirs.MinPLogitsWarper(p)) for p in [*SETTINGS, 1.0]),
    *((temperature, {"temperature": t}, theirs.TemperatureLogitsWarper(t)) for t in (0.1, 0.7, 1.0, 3.0)),
]


def name_of(x):
    """Name a case without an address: two workers must collect the same tests."""
    return str(x) if isinstance(x, dict) else getattr(x, "__name__", type(x).__name__)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("ours", "setting", "warper"), PAIRS, ids=name_of)
def test_filters_are_those_of_transformers_to_the_bit(ours, setting, warper, dtype, generator):
    for scale in (0.5, 3.0, 20.0):
        logits = (scale * generator.normal(size=(5, 40))).astype(dtype)
        got = ours(logits, **setting)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, by_transformers(warper, logits))


def test_top_p_keeps_the_token_that_crosses_p():
    assert kept(top_p(LOGITS, p=0.6)) == [[True, True, False, False], [False, False, True, True]]
    assert kept(top_p(LOGITS, p=0.4)) == [[True, False, False, False], [False, False, False, True]]


def test_top_p_of_0_keeps_one_and_of_1_keeps_all():
    assert kept(top_p(LOGITS, p=0.0)) == [[True, False, False, False], [False, False, False, True]]
    tiny = np.array([[0.0, -800.0, -np.inf]])
    np.testing.assert_array_equal(top_p(tiny, p=1.0), tiny)


@pytest.mark.parametrize("of", [lambda x: top_k(x, k=2), lambda x: top_p(x, p=0.5)], ids=["top_k", "top_p"])
def test_equal_logits_share_their_fate(of):
    tied = np.array([[1.0, 3.0, 1.0, 1.0, -2.0]])
    assert kept(of(tied)) == [[True, True, True, True, False]] or kept(of(tied)) == [[False, True, False, False, False]]
    np.testing.assert_array_equal(of(tied[:, ::-1]), of(tied)[:, ::-1])


def test_what_was_forbidden_before_stays_forbidden():
    logits = np.where([[True, False, True, True]], LOGITS, -np.inf)
    softer = temperature(logits, temperature=2.0)
    for filtered in (top_k(logits, k=4), top_p(logits, p=0.99), min_p(logits, p=0.0), softer):
        assert not np.any(np.isfinite(filtered[:, 1]))
        assert not np.any(np.isnan(filtered))


def test_filters_are_applied_in_the_order_of_transformers(generator):
    settings = {"temperature": 2.0, "top_k": 9, "top_p": 0.8, "min_p": 0.1}
    chain = [
        theirs.TemperatureLogitsWarper(2.0), theirs.TopKLogitsWarper(9), theirs.TopPLogitsWarper(0.8),
        theirs.MinPLogitsWarper(0.1),
    ]  # fmt: skip
    logits = 3.0 * generator.normal(size=(6, 40))
    want = logits
    for warper in chain:
        want = by_transformers(warper, want)
    np.testing.assert_array_equal(Filters(**settings).apply(logits), want)
    other_order = min_p(top_p(top_k(logits, k=9), p=0.8), p=0.1) / 2.0
    assert np.any(other_order != want)


WRONG = {
    "the token that crosses p is dropped": rewritten(top_p, "before < p", "up_to <= p"),
    "p of the ascending order": rewritten(top_p, "_sorted(logits)", "-_sorted(-logits)"),
    "k - 1 kept": rewritten(top_k, "k - 1 : k", "k - 2 : k - 1"),
    "ratio to 1": rewritten(min_p, "- xp.max(logits, axis=-1, keepdims=True)", ""),
    "multiplied by the temperature": rewritten(temperature, "logits / temperature", "logits * temperature"),
}
OF_WRONG = {"top_k": PAIRS[1], "top_p": PAIRS[7], "min_p": PAIRS[12], "temperature": PAIRS[17]}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_filter_is_rejected(name, generator):
    wrong = WRONG[name]
    ours, setting, warper = OF_WRONG[wrong.__name__]
    assert ours.__name__ == wrong.__name__
    logits = generator.normal(size=(5, 40))
    np.testing.assert_array_equal(ours(logits, **setting), by_transformers(warper, logits))
    assert np.any(wrong(logits, **setting) != by_transformers(warper, logits))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, "temperature must be at least 0, got -0.1"),
        ({"temperature": "hot"}, "temperature must be a number, got 'hot'"),
        ({"top_k": 0}, "top_k must be at least 1, got 0"),
        ({"top_k": 2.5}, "top_k must be an integer, got 2.5"),
        ({"top_p": 1.5}, r"top_p must be in \[0, 1\], got 1.5"),
        ({"min_p": -0.1}, r"min_p must be in \[0, 1\], got -0.1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Filters(**settings)


def test_every_filter_stands_in_the_chain():
    assert set(Filters.__dataclass_fields__) == {"temperature", "top_k", "top_p", "min_p"}
    assert all(hasattr(filters, name) for name in Filters.__dataclass_fields__)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("limit", [0.0, 0, 1e-300, 5e-324, 1e-19])
def test_a_temperature_of_nothing_is_greedy(dtype, limit, generator):
    logits = np.concatenate([generator.normal(size=(4, 9)), [[2.0, 5.0, 5.0, *[-np.inf] * 6]]]).astype(dtype)
    cold = temperature(logits, temperature=limit)
    assert cold.dtype == dtype
    np.testing.assert_array_equal(np.isfinite(cold), logits == logits.max(axis=-1, keepdims=True))
    drawn_from, _ = softmax(Filters(temperature=limit, top_p=0.9, top_k=3).apply(logits))
    np.testing.assert_array_equal(drawn_from[-1, 1:3], 0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [1e31, 1e300])
def test_a_temperature_without_bounds_forgets_the_logits(dtype, limit):
    hot = temperature(np.array([[3.0, -2.0, -np.inf]], dtype=dtype), temperature=limit)
    np.testing.assert_array_equal(hot, np.array([[0.0, 0.0, -np.inf]], dtype=dtype))


def test_nothing_left_stays_nothing():
    for limit in (0.0, 1e300):
        np.testing.assert_array_equal(temperature(np.full((1, 3), -np.inf), temperature=limit), -np.inf)


@pytest.mark.parametrize("limit", [2.0**-60, 2.0**100])
def test_the_limits_begin_where_nothing_is_lost(limit):
    """Just before the limit the quotients are numbers in float32, and give the distribution of the limit."""
    logits = np.array([[300.0, 299.9, -300.0]], dtype=np.float32)
    before, _ = softmax(temperature(logits, temperature=limit))
    beyond, _ = softmax(temperature(logits, temperature=limit / 2 if limit < 1 else limit * 2))
    np.testing.assert_array_equal(before, beyond)
