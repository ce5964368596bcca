"""Cases of models that read and write, read far, and see: every dtype passes, and the peers are what they say."""

import pytest
import torch

from compare.cases.clip import ENDED
from compare.cases.encoder_decoder import BART, MARIAN, PEGASUS, computed_positions, kind_of
from compare.cases.registry import case_named
from compare.cases.t5 import GATED
from compare.peers.family_peer import family_model, names_of
from compare.run.row import judge_config

CASES = (
    "post_norm_decoder_block pre_norm_decoder_block transformer encoder_decoder target_loss encoder_decoder_lm t5 "
    "t5_loss longformer clip_image clip_text clip perceiver_resampler gated_cross_block flamingo"
).split()


@pytest.mark.parametrize("name", CASES)
def test_every_dtype_passes(name):
    case = case_named(name)
    for config in case.configs:
        for dtype in () if config.measured else case.dtypes:
            rows = judge_config(case, config, dtype)
            assert [(row["peer"], row["verdict"], row["reason"]) for row in rows if row["verdict"] != "PASS"] == []


@pytest.mark.parametrize(
    ("model_type", "config", "groups"),
    [("bart", BART, {"head"}), ("t5", GATED, {"head"}), ("clip", ENDED, set())],
)
def test_models_on_the_meta_device_hold_no_numbers(model_type, config, groups):
    model = family_model(model_type, config, frozenset(groups))
    assert all(parameter.is_meta for parameter in model.parameters())
    assert not model.training


def test_a_head_of_its_own_is_tied_to_nothing():
    model = family_model("t5", GATED, frozenset({"head"}))
    assert model.lm_head.weight is not model.shared.weight
    assert model.encoder.embed_tokens.weight is model.decoder.embed_tokens.weight
    names = {name for row in names_of("t5", GATED, frozenset()) for name in row.theirs}
    assert "lm_head.weight" not in names


def test_computed_positions_are_those_of_transformers():
    params = {"embedding.weight": torch.zeros(1)}
    for config in (MARIAN, PEGASUS):
        table = computed_positions(config, params)["encoder.embed_positions.weight"]
        model = family_model(kind_of(config), config).encoder.embed_positions.to_empty(device="cpu")
        assert (model.create_weight() - table).abs().max() < 2.0**-22
    assert computed_positions(BART, params) == {}
