import pytest
import torch
from transformers import BertConfig as HfConfig
from transformers import BertForPreTraining, BertForQuestionAnswering, BertForSequenceClassification, BertModel

from refimpl.checkpoints.families.bert.names import BERT_NAMES, PREFIX, TIED, bert_rows
from refimpl.checkpoints.families.bert.settings import bert_config_from_hf
from refimpl.models.bert.config import BertConfig

CLASSES = (BertForPreTraining, BertForSequenceClassification, BertForQuestionAnswering)
SIZES = {"vocab_size": 31, "d_model": 12, "n_head": 4, "n_layer": 3, "d_ff": 20}
CONFIG = BertConfig(**SIZES, n_position=11, n_segment=3, n_label=5)


@pytest.fixture(scope="module")
def shapes():
    """Return the shape of every tensor that `transformers` has, all heads included, second names left out."""
    config = HfConfig(
        vocab_size=31, hidden_size=12, num_attention_heads=4, num_hidden_layers=3, intermediate_size=20,
        max_position_embeddings=11, type_vocab_size=3, num_labels=5,
    )
    with torch.device("meta"):
        states = [cls(config).state_dict() for cls in CLASSES]
    merged = {name: tuple(tensor.shape) for state in states for name, tensor in state.items()}
    return {name: shape for name, shape in merged.items() if name not in TIED}


def test_the_table_is_all_that_transformers_has(shapes):
    assert {name: row.shape for row in BERT_NAMES.filled(CONFIG, PREFIX) for name in row.theirs} == shapes


def test_no_name_stands_twice_on_either_side():
    rows = bert_rows(CONFIG)
    for names in ([row.ours for row in rows], [name for row in rows for name in row.theirs]):
        assert len(names) == len(set(names))


def test_a_block_has_the_keys_and_shapes_of_the_torch_encoder_layer():
    block = torch.nn.TransformerEncoderLayer(12, 4, 20)
    expected = {name: tuple(tensor.shape) for name, tensor in block.state_dict().items()}
    start = "encoder.layers.1."
    rows = {row.ours: row.our_shape for row in bert_rows(CONFIG) if row.ours.startswith(start)}
    assert {name.removeprefix(start): shape for name, shape in rows.items()} == expected


def test_heads_have_no_prefix():
    names = {row.ours: row.theirs for row in BERT_NAMES.filled(CONFIG, PREFIX)}
    assert names["mlm.decoder.bias"] == ("cls.predictions.bias",)
    assert names["classifier.weight"] == ("classifier.weight",)
    assert names["pooler.bias"] == ("bert.pooler.dense.bias",)


def test_weights_stay_weights_and_biases_stay_biases():
    for row in bert_rows(CONFIG):
        kind = "bias" if row.ours.endswith("bias") else "weight"
        assert all(name.endswith(kind) for name in row.theirs)


def test_a_block_computes_in_torch_what_it_computes_in_transformers():
    # There and back is the identity under a wrong table too (norm1 and norm2 exchanged): so compute with it.
    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_attention_heads": 4, "intermediate_size": 20, "vocab_size": 31}
    theirs = BertModel(HfConfig(**sizes, num_hidden_layers=3, attn_implementation="eager")).double().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_()
        tensors = {name: tensor.numpy() for name, tensor in theirs.state_dict().items()}
        config = bert_config_from_hf(theirs.config.to_dict())
        params = BERT_NAMES.from_hf(tensors, config)
        block = torch.nn.TransformerEncoderLayer(
            12, 4, 20, dropout=0, activation="gelu", layer_norm_eps=1e-12, batch_first=True, dtype=torch.float64
        )
        start = "encoder.layers.1."
        ours = {name: torch.from_numpy(value) for name, value in params.items() if name.startswith(start)}
        block.load_state_dict({name.removeprefix(start): value for name, value in ours.items()})
        x = torch.randn(2, 5, 12, dtype=torch.float64)
        expected = theirs.encoder.layer[1](x)
        expected = expected[0] if isinstance(expected, tuple) else expected
        # A tensor in the wrong place changes y by about its size; rounding takes a few of the 53 bits.
        half_the_bits = 2.0**-26 * float(expected.abs().max())
        assert float((block(x) - expected).abs().max()) < half_the_bits
        block.norm1, block.norm2 = block.norm2, block.norm1
        assert float((block(x) - expected).abs().max()) > half_the_bits
