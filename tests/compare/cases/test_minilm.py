"""The real model on real sentences: within 1e-12 of `transformers`, and of use."""

import numpy as np
import pytest

from compare.cases import minilm_data
from compare.cases.minilm import loss_cotangents, minilm, transformers_minilm
from compare.cases.registry import case_named
from compare.measure.evaluate import evaluate
from compare.measure.truth import draw_inputs, positional_names
from compare.peers.arrays import ArrayPeer
from compare.peers.torch_peer import TorchPeer
from refimpl.attention.mask import padding_mask
from refimpl.checkpoints.families.bert.names import BERT_NAMES
from refimpl.models.bert.model import bert
from refimpl.models.sentence_embedding import sentence_embedding

# The requirement of the project, for float64: max |error| / max |truth| of every tensor.
LARGEST_RELATIVE_ERROR = 1e-12
CASE = case_named("minilm")
# The checkpoint's 104th tensor, position_ids, is a constant.
N_WEIGHT = 103


def run(peer, config):
    inputs, generator = draw_inputs(CASE, config, "float64", seed=0)
    n_batch, n_seq = inputs.args[0].shape
    _, model = minilm_data.load_model()
    shapes = [(n_batch, n_seq, model.d_model)] * (model.n_layer + 1) + [(n_batch, model.d_model)] * 2 + [()]
    cotangents = loss_cotangents(generator, [np.zeros(shape) for shape in shapes])
    found = evaluate(peer, CASE, inputs, {}, np.float64, cotangents, positional_names(minilm))
    gradients = {name.removeprefix("params."): gradient for name, gradient in found.gradients.items()}
    return found.outputs, BERT_NAMES.to_hf(gradients, model)


def too_far(found, expected):
    """Name the tensors that differ by more than the bound, relative to their largest element."""
    assert found.keys() == expected.keys()
    far = {}
    for name, truth in expected.items():
        # A bias of the keys moves all scores of a query alike, so its gradient is 0 but for rounding: that is of the
        # size of the terms that cancel, which the gradient of the queries' bias has.
        scale = np.abs(expected[name.replace("key.bias", "query.bias")]).max()
        distance = np.abs(found[name] - truth).max() / scale
        if not distance <= LARGEST_RELATIVE_ERROR:
            far[name] = distance
    return far


@pytest.fixture(scope="module", params=["short", "long"])
def both(request):
    config = CASE.config_named(request.param)
    return run(ArrayPeer(minilm), config), run(TorchPeer(transformers_minilm), config)


def test_outputs_and_every_gradient_are_those_of_transformers(both):
    (outputs, gradients), (their_outputs, their_gradients) = both
    assert list(outputs) == [*(f"state{i}" for i in range(7)), "embeddings", "pooled", "loss"]
    assert not too_far(outputs, their_outputs)
    assert len(gradients) == N_WEIGHT
    assert not too_far(gradients, their_gradients)
    # The bound would not catch anything if nothing reached a tensor.
    assert all(np.abs(gradient).max() > 0 for gradient in gradients.values())


def test_a_relative_error_above_the_bound_is_seen():
    truth = {"a.query.bias": np.array([1.0, -2.0]), "a.key.bias": np.array([1e-17, 0.0])}
    wrong = {"a.query.bias": np.array([1.0, -2.0 + 4e-12]), "a.key.bias": np.array([0.0, 0.0])}
    assert not too_far(truth, truth)
    assert list(too_far(wrong, truth)) == ["a.query.bias"]
    assert too_far({**truth, "a.key.bias": np.array([np.nan, 0.0])}, truth)


def embeddings_of(sentences):
    params, config = minilm_data.load_model()
    backbone = {key: x for key, x in params.items() if not key.startswith("pooler.")}
    encoded = [encoding.ids for encoding in minilm_data.tokenizer().encode_batch(sentences)]
    order = np.argsort([len(ids) for ids in encoded])
    found = np.zeros((len(encoded), config.d_model), np.float32)
    for part in np.array_split(order, 4):
        token_ids, is_token = minilm_data.pad([encoded[i] for i in part], config.pad_id)
        states, _ = bert(token_ids, 0 * token_ids, backbone, config=config, mask=padding_mask(is_token))
        found[part], _ = sentence_embedding(states[-1], is_token=is_token)
    return found


def test_sentences_that_say_the_same_are_closer_than_any_others():
    sentences, pairs = minilm_data.read_sentences()
    embeddings = embeddings_of(sentences)
    cosines = embeddings @ embeddings.T
    same = np.array([cosines[pair] for pair in pairs])
    is_other = ~np.eye(len(sentences), dtype=bool)
    for a, b in pairs:
        is_other[a, b] = is_other[b, a] = False
    # Far above: the worst pair has half again the cosine of the best of more than a thousand others.
    assert same.min() > 1.5 * cosines[is_other].max()


def test_there_are_forty_real_sentences_of_mixed_length():
    sentences, pairs = minilm_data.read_sentences()
    n_word = [len(sentence.split()) for sentence in sentences]
    assert len(sentences) >= 40
    assert len(set(sentences)) == len(sentences)
    assert len(pairs) == 6
    assert min(n_word) == 3
    assert 50 <= max(n_word) <= 60
    quick = [config for config in CASE.configs if config.profile == "quick" and not config.measured]
    assert sum(len(draw_inputs(CASE, config, "float32", seed=0)[0].args[0]) for config in quick) >= 40


def test_fifteen_percent_of_the_tokens_are_masked_and_never_padding_or_ends():
    mask_id = minilm_data.tokenizer().token_to_id("[MASK]")
    inputs, _ = draw_inputs(CASE, CASE.config_named("long"), "float32", seed=0)
    token_ids, positions, targets, _ = inputs.args
    is_token = inputs.masks["is_token"]
    assert np.flatnonzero(token_ids == mask_id).tolist() == positions.tolist()
    assert is_token.ravel()[positions].all()
    assert not set(targets) & {minilm_data.tokenizer().token_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]")}
    n_guessable = is_token.sum() - 2 * len(token_ids)
    assert len(positions) == round(0.15 * n_guessable)


def test_measured_sequences_have_the_lengths_they_name():
    for n_seq in (128, 512):
        inputs, _ = draw_inputs(CASE, CASE.config_named(f"seq{n_seq}"), "float32", seed=0)
        assert inputs.args[0].shape == (1, n_seq)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(minilm_data, "PACKAGE", "no_such_package")
    with pytest.raises(ModuleNotFoundError, match="need the package no-such-package"):
        minilm_data.model_folder()
