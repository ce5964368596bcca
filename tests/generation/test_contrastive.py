import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.generation import Constraints, Stop, contrastive, greedy, last, pad_left
from refimpl.generation.contrastive import _likeness, _most_probable, _tokens
from tests.generation.plain import contrastive_tokens
from tests.generation.toy import PROMPTS, Toy

TOKENS, MASK = pad_left(PROMPTS, pad_id=6)
STOP = Stop(max_new_tokens=7, eos_ids=(0,))


def search(toy, *, of=contrastive, use_cache=True, **settings):
    model = toy.model(use_cache=use_cache, with_states=True)
    return last(of(model, TOKENS, mask=MASK, stop=STOP, **settings)).written()


SETTINGS = [{"k": k, "alpha": alpha} for k in (1, 3, 7, 50) for alpha in (0.0, 0.3, 0.6, 1.0)]


def n_different_from_plain(of, settings=SETTINGS):
    n = 0
    for seed in range(6):
        toy = Toy(seed, sharpness=1.0)
        for each in settings:
            want = [contrastive_tokens(toy.log_probabilities, toy.state, p, 7, 0, **each) for p in PROMPTS]
            n += search(toy, of=of, **each) != want
    return n


def test_tokens_are_those_of_equation_5():
    assert n_different_from_plain(contrastive) == 0


def test_without_weight_on_likeness_it_is_greedy_search():
    toy = Toy(3)
    assert search(toy, k=4, alpha=0.0) == last(greedy(toy.model(), TOKENS, mask=MASK, stop=STOP)).written()


def test_a_cache_changes_nothing():
    toy = Toy(3, sharpness=0.5)
    assert search(toy, k=4, alpha=0.6) == search(toy, k=4, alpha=0.6, use_cache=False)


WRONG = {
    "likeness to padding counts": rewritten(contrastive, _tokens=rewritten(
        _tokens, _likeness=lambda new, old, is_token: _likeness(new, old, np.ones_like(is_token)))),
    "likeness to the last token only": rewritten(contrastive, _tokens=rewritten(
        _tokens, _likeness=lambda new, old, is_token: _likeness(new, old[:, -1:], is_token[:, -1:]))),
    "product for cosine": rewritten(contrastive, _tokens=rewritten(
        _tokens, _likeness=rewritten(_likeness, unit_vectors=lambda x: (x, None)))),
    "likeness is rewarded": rewritten(contrastive, _tokens=rewritten(
        _tokens, "- alpha * likeness", "+ alpha * likeness")),
    "one candidate too few": rewritten(contrastive, _tokens=rewritten(
        _tokens, _most_probable=lambda scores, k: _most_probable(scores, max(k - 1, 1)))),
    "past of another candidate": rewritten(contrastive, _tokens=rewritten(
        _tokens, "tried_reader.rows(chosen)", "tried_reader.rows(each * n_tried)")),
    "states of the prompt only": rewritten(contrastive, _tokens=rewritten(
        _tokens, "[states, tried_states[chosen]]", "[states, 0.0 * tried_states[chosen] + states[:, :1]]")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_search_is_rejected(name):
    assert n_different_from_plain(WRONG[name], SETTINGS[4:8]) > 0


def test_what_may_not_come_is_never_chosen():
    rules = Constraints(suppressed=(1, 2, 3, 4))
    for tokens in search(Toy(2), k=7, alpha=1.0, constraints=rules):
        assert not {1, 2, 3, 4} & set(tokens)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"k": 0, "alpha": 0.5}, "k must be at least 1"), ({"k": 2, "alpha": 1.5}, r"alpha must be in \[0, 1\], got 1.5")],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        search(Toy(), **settings)


def test_a_model_without_states_is_refused():
    with pytest.raises(ValueError, match="the outputs of step must be logits and hidden states, got 'ndarray'"):
        next(contrastive(Toy().model(), TOKENS, k=2, alpha=0.5))
