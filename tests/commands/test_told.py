"""What a folder says about generation: read, refused by name, and how options of the command go before it."""

import json

import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.generation_settings import read_generation
from refimpl.commands.options import OF_METHOD, Usage, method_for
from refimpl.commands.told import told_method, told_options

WRONG = [
    ({"do_sample": 1}, "do_sample must be true or false, got 1"),
    ({"num_beams": 0}, "num_beams must be an integer of at least 1, got 0"),
    ({"top_k": 2.5}, "top_k must be an integer of at least 0, got 2.5"),
    ({"top_p": 1.5}, "top_p must be a number from 0 to 1, got 1.5"),
    ({"temperature": True}, "temperature must be a number from 0 to"),
    ({"eos_token_id": [1, "2"]}, "eos_token_id must be a token or a list of tokens, got [1, '2']"),
    ({"decoder_start_token_id": [1, 2]}, "decoder_start_token_id must be a token, got [1, 2]"),
    ({"bad_words_ids": [[]]}, "bad_words_ids must be lists of tokens, got [[]]"),
    ({"stop_strings": [""]}, "stop_strings must be a string or a list of strings, got ['']"),
    ({"early_stopping": "soon"}, "early_stopping must be true, false or \"never\", got 'soon'"),
]


@pytest.mark.parametrize(("said", "message"), WRONG)
def test_what_a_setting_cannot_be_is_refused_by_name(tmp_path, said, message):
    (tmp_path / "generation_config.json").write_text(json.dumps(said))
    with pytest.raises(CheckpointError) as refused:
        read_generation(tmp_path, {})
    assert str(refused.value).startswith(str(tmp_path / "generation_config.json"))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("said", "samples", "message"),
    [
        ({"encoder_repetition_penalty": 1.2}, False, "encoder_repetition_penalty must be absent or 1 or 1.0, got 1.2"),
        ({"guidance_scale": 3}, True, "guidance_scale must be absent or 1 or 1.0, got 3"),
        ({"typical_p": 0.5}, True, "typical_p must be absent or 1 or 1.0, got 0.5"),
        ({"typical_p": 0.5, "eta_cutoff": 0.1}, False, None),
        ({"encoder_no_repeat_ngram_size": 0, "guidance_scale": 1.0, "max_time": None, "use_cache": False}, True, None),
    ],
)
def test_what_would_change_the_text_and_is_not_here_is_refused_by_name(tmp_path, said, samples, message):
    generation = read_generation(tmp_path, said)
    if message is None:
        generation.check(samples=samples)
    else:
        with pytest.raises(CheckpointError, match=r"config\.json: it asks for what refimpl does not do") as refused:
            generation.check(samples=samples)
        assert message in str(refused.value)


def test_config_json_speaks_only_where_there_is_no_other_file(tmp_path):
    assert read_generation(tmp_path, {"num_beams": 3, "eos_token_id": None}).said == {"num_beams": 3}
    (tmp_path / "generation_config.json").write_text('{"top_k": null}')
    assert read_generation(tmp_path, {"num_beams": 3}).said == {}


@pytest.mark.parametrize(
    ("said", "method"),
    [
        ({}, "greedy"),
        ({"temperature": 0.5}, "greedy"),
        ({"do_sample": True}, "sample"),
        ({"num_beams": 2}, "beam"),
        ({"num_beams": 4, "num_beam_groups": 2}, "diverse"),
        ({"num_beams": 4, "do_sample": True}, "beam sampling"),
        ({"penalty_alpha": 0.6, "top_k": 4}, "contrastive"),
        ({"penalty_alpha": 0.6, "top_k": 1}, "greedy"),
    ],
)
def test_the_method_is_the_one_that_transformers_would_take(said, method):
    assert told_method(said) == method
    from transformers import GenerationConfig

    theirs = GenerationConfig(**said).get_generation_mode().value
    names = {"beam sampling": "beam_sample", "diverse": "group_beam_search"}
    assert theirs == names.get(method, f"{method}_search" if method != "sample" else "sample")


def test_the_options_given_choose_the_method():
    nothing = dict.fromkeys({name for options in OF_METHOD.values() for name in options})
    for told in ("greedy", "beam", "beam sampling"):
        assert method_for(None, nothing | {"top_p": 0.5}, told) == "sample"
        assert method_for("beam", nothing, told) == "beam"
    assert method_for(None, nothing | {"beams": 3}, "diverse") == "diverse"
    assert method_for(None, nothing | {"beams": 3}, "sample") == "beam"
    assert method_for(None, nothing | {"returned": 3}, "greedy") == "sample"
    assert method_for(None, nothing | {"seed": 1, "draft": "there"}, "sample") == "speculative"
    assert method_for(None, nothing, "beam sampling") == "beam sampling"
    with pytest.raises(Usage, match="no method has them all"):
        method_for(None, nothing | {"top_p": 0.5, "beams": 3}, "greedy")


def test_options_in_our_words():
    said = {"num_beams": 1, "top_k": 7, "penalty_alpha": 0.4, "early_stopping": True, "num_return_sequences": 2}
    assert told_options(said) == {"top_k": 7, "candidates": 7, "alpha": 0.4, "early_stopping": "true", "returned": 2}
