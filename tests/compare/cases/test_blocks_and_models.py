"""Cases of blocks and of BERT: every dtype passes, and the peers are what they say."""

import numpy as np
import pytest
import torch

from compare.cases.bert import ERF, draw_ids, overwritten
from compare.cases.encoder_block import torch_layer
from compare.cases.registry import case_named
from compare.peers.transformers_peer import bert_model, their_names
from compare.run.row import judge_config, judge_function
from refimpl.checkpoints.families.bert.names import BERT_NAMES

CASES = (
    "learned_positions feed_forward post_norm_block pre_norm_block encoder bert_embeddings bert pooler "
    "masked_token_head masked_token_loss sentence_embedding bert_for_pretraining bert_for_sequence_classification"
).split()


@pytest.mark.parametrize("name", CASES)
def test_every_dtype_passes(name):
    case = case_named(name)
    for config in case.configs:
        for dtype in () if config.measured else case.dtypes:
            rows = judge_config(case, config, dtype)
            assert [(row["peer"], row["verdict"], row["reason"]) for row in rows if row["verdict"] != "PASS"] == []


@pytest.mark.parametrize("layer", range(6))
def test_every_block_of_minilm_passes_alone(layer):
    case = case_named("minilm_blocks")
    for dtype in case.dtypes:
        rows = judge_config(case, case.config_named(f"block{layer}"), dtype)
        assert {row["peer"]: row["verdict"] for row in rows} == {row["peer"]: "PASS" for row in rows}


def test_softening_is_rare_without_relu():
    # GELU has no kink, so nothing may be softened; ReLU has one, and few elements are that near to it.
    assert softened("gelu") == 0
    assert 0 < softened("relu") < 100


def softened(activation):
    case = case_named("post_norm_block")
    config = next(c for c in case.configs if c.settings.get("activation", "relu") == activation and not c.measured)
    (row,) = judge_config(case, config, "bfloat16")
    return row["outputs"]["reference"]["y"]["softened"]


def test_models_on_the_meta_device_hold_no_numbers():
    model = bert_model("BertForPreTraining", ERF, frozenset({"pooler", "mlm", "nsp"}))
    assert all(parameter.is_meta for parameter in model.parameters())
    assert not model.training
    layer = torch_layer(8, 4, n_head=2, activation="relu", eps=1e-5, biased=True)
    assert all(parameter.is_meta for parameter in layer.parameters())


def test_names_are_those_of_the_checkpoints(generator):
    case = case_named("bert_for_pretraining")
    params = case.inputs(generator, config=ERF, n_batch=1, n_seq=2).args[2]
    theirs = their_names({key: torch.tensor(x) for key, x in params.items()}, ERF)
    expected = BERT_NAMES.to_hf(params, ERF)
    assert theirs.keys() == expected.keys()
    assert all(np.array_equal(theirs[key].numpy(), expected[key]) for key in expected)


def test_padding_tokens_stand_only_where_there_is_padding(generator):
    token_ids, segment_ids, masks = draw_ids(generator, ERF, 4, 6, padded=True)
    assert np.array_equal(token_ids != ERF.pad_id, masks["mask"][:, 0, 0])
    assert set(segment_ids.ravel()) == {0, 1, 2}


def test_the_last_of_repeated_rows_wins_where_rows_are_overwritten():
    ids, values = np.array([1, 0, 1]), np.array([[1.0], [2.0], [4.0]])
    assert overwritten(ids, values, 3).tolist() == [[2], [4], [0]]


def test_a_coarse_erf_is_declared_in_float32_only():
    case = case_named("feed_forward")
    config = case.config_named("rank3")
    policies = {dtype: judge_config(case, config, dtype, peers=["torch"])[0]["policy"] for dtype in case.dtypes}
    assert [dtype for dtype, policy in policies.items() if "erf" in policy] == ["float32"]


def test_the_declaration_of_a_peer_does_not_loosen_the_reference():
    case = case_named("gelu")
    assert judge_function(case.bugs["tanh for erf"], case, case.config_named("rank3"), "float32")[0] == "FAIL"
