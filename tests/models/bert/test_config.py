from dataclasses import FrozenInstanceError, asdict

import pytest

from refimpl.models.bert.config import ACTIVATIONS, BertConfig

SIZES = {
    "vocab_size": 31, "n_position": 11, "n_segment": 3, "d_model": 12, "n_head": 4, "n_layer": 2, "d_ff": 20,
}


def test_defaults_are_those_of_the_paper():
    settings = {"norm_eps": 1e-12, "activation": "gelu", "n_label": 2, "pad_id": 0}
    # What its relatives have otherwise.
    settings |= {"d_embed": 0, "n_block": 0, "positions_after_padding": False, "pooler_activation": "tanh"}
    settings |= {"head_activation": ""}
    assert asdict(BertConfig(**SIZES)) == {**SIZES, **settings}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_taken(activation):
    assert BertConfig(**SIZES, activation=activation).activation == activation


def test_it_is_frozen():
    with pytest.raises(FrozenInstanceError):
        BertConfig(**SIZES).d_model = 24


@pytest.mark.parametrize("name", [*sorted(SIZES.keys() - {"n_segment"}), "n_label"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "2", True, None])
def test_a_size_that_is_none_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got {value!r}"):
        BertConfig(**{**SIZES, name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_head": 5}, "d_model must be a multiple of n_head = 5, got 12"),
        ({"norm_eps": 0.0}, "norm_eps must be a positive finite number, got 0.0"),
        ({"norm_eps": float("nan")}, "norm_eps must be a positive finite number, got nan"),
        ({"norm_eps": float("inf")}, "norm_eps must be a positive finite number, got inf"),
        ({"norm_eps": "1e-5"}, "norm_eps must be a positive finite number, got '1e-5'"),
        ({"activation": "swish"}, "activation must be one of gelu, gelu_tanh, relu, got 'swish'"),
        ({"pad_id": -1}, "pad_id must be an integer of at least 0, got -1"),
        ({"pad_id": 31}, "pad_id must be below vocab_size = 31, got 31"),
        ({"n_segment": -1}, "n_segment must be an integer of at least 0, got -1"),
        ({"d_embed": 2.0}, "d_embed must be an integer of at least 0, got 2.0"),
        ({"n_block": 3}, "n_block must be at most n_layer = 2, got 3"),
        ({"pooler_activation": "gelu"}, "pooler_activation must be one of tanh, relu, got 'gelu'"),
        ({"positions_after_padding": 2}, "positions_after_padding must be one of False, True, got 2"),
    ],
)
def test_a_setting_that_is_refused(change, message):
    with pytest.raises(ValueError) as caught:
        BertConfig(**{**SIZES, **change})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("n_layer", "n_block", "blocks"),
    [(4, 0, [0, 1, 2, 3]), (4, 1, [0] * 4), (4, 2, [0, 0, 1, 1]), (5, 2, [0, 0, 0, 1, 1])],
)
def test_layers_share_blocks_with_their_neighbours(n_layer, n_block, blocks):
    """ALBERT's ``int(i / (num_hidden_layers / num_hidden_groups))``."""
    config = BertConfig(**{**SIZES, "n_layer": n_layer}, n_block=n_block)
    assert [config.block_of(i) for i in range(n_layer)] == blocks
    if n_block:
        assert blocks == [int(i / (n_layer / n_block)) for i in range(n_layer)]
