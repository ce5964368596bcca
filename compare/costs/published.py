"""Models of published sizes: the text, the sizes, and the number of parameters that their authors name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from compare.interpretations import cost
from refimpl.checkpoints.bert_names import bert_rows
from refimpl.checkpoints.encoder_decoder_names import encoder_decoder_rows
from refimpl.checkpoints.gpt_names import gpt_rows
from refimpl.checkpoints.transformer_xl_names import transformer_xl_rows
from refimpl.models.bert_config import BertConfig
from refimpl.models.bert_heads import bert_for_pretraining
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.heads import gpt_lm
from refimpl.models.transformer_xl.config import TransformerXLConfig
from refimpl.models.transformer_xl.heads import transformer_xl_lm


@dataclass(frozen=True)
class Published:
    """A model of a published size.

    Attributes
    ----------
    title : str
        Its name.
    said : str
        The number of parameters that its authors name, and where.
    text : callable
        Our text of it: ``text(*inputs, params, config=config) -> (y, pullback)``.
    config : object
        The sizes.
    rows : list of Row
        Its parameters and their shapes.
    inputs : callable
        ``inputs(n_batch, n_seq, dtype) -> tuple`` of shape-only arrays.
    longest : int
        The longest text it reads.
    """

    title: str
    said: str
    text: Callable
    config: object
    rows: tuple
    inputs: Callable
    longest: int

    def params(self, dtype):
        """Make its parameters.

        Parameters
        ----------
        dtype : str
            Their dtype.

        Returns
        -------
        dict of (str, Shaped)
            Shape-only arrays.
        """
        return {row.ours: cost.empty(row.our_shape, dtype) for row in self.rows}


def _ids(n_batch, n_seq, dtype, n=1):
    return tuple(cost.empty((n_batch, n_seq), "int64") for _ in range(n))


def _bert(title, said, d_model, n_layer, n_head):
    config = BertConfig(30522, 512, 2, d_model, n_head, n_layer, 4 * d_model)
    rows = tuple(row for row in bert_rows(config) if row.group in ("encoder", "pooler", "mlm", "nsp"))
    return Published(title, said, bert_for_pretraining, config, rows, partial(_ids, n=2), 512)


def _gpt(title, said, d_model, n_layer, n_head, n_position, vocab_size=50257, **settings):
    config = GptConfig(vocab_size, n_position, d_model, n_head, n_layer, 4 * d_model, **settings)
    rows = tuple(row for row in gpt_rows(config) if row.group == "backbone")
    return Published(title, said, gpt_lm, config, rows, _ids, n_position)


def _transformer(title, said, d_model, n_head, d_ff):
    config = EncoderDecoderConfig(
        vocab_size=37000, n_position=1024, d_model=d_model, n_head=n_head, n_decoder_head=n_head, n_layer=6,
        n_decoder_layer=6, d_ff=d_ff, d_decoder_ff=d_ff, positions="interleaved", scale_embedding=True,
    )  # fmt: skip
    rows = tuple(row for row in encoder_decoder_rows(config) if row.group == "backbone")
    return Published(title, said, encoder_decoder_lm, config, rows, partial(_ids, n=2), 1024)


def _transformer_xl(title, said, n_memory, **sizes):
    config = TransformerXLConfig(267735, (20000, 40000, 200000), n_memory=n_memory, **sizes)

    def inputs(n_batch, n_seq, dtype):
        memory = cost.empty((config.n_layer, n_batch, n_memory, config.d_model), dtype)
        return (*_ids(n_batch, n_seq, dtype), memory)

    return Published(title, said, transformer_xl_lm, config, tuple(transformer_xl_rows(config)), inputs, 2048)


GPT3 = _gpt("GPT-3", "175 B (Brown 2020, table 2.1)", 12288, 96, 96, 2048)
XL_BASE = {"d_model": 410, "d_embed": 410, "n_head": 10, "d_head": 41, "n_layer": 16, "d_ff": 2100}
XL_LARGE = {"d_model": 1024, "d_embed": 1024, "n_head": 16, "d_head": 64, "n_layer": 18, "d_ff": 4096, "div_val": 4}

PUBLISHED = {
    "transformer-base": _transformer("Transformer base", "65 M (Vaswani 2017, table 3)", 512, 8, 2048),
    "transformer-big": _transformer("Transformer big", "213 M (Vaswani 2017, table 3)", 1024, 16, 4096),
    "bert-base": _bert("BERT base", "110 M (Devlin 2018, section 3)", 768, 12, 12),
    "bert-large": _bert("BERT large", "340 M (Devlin 2018, section 3)", 1024, 24, 16),
    "gpt-1": _gpt("GPT-1", "117 M (Radford 2019, table 2)", 768, 12, 12, 512, 40478, norm_first=False),
    "gpt-2": _gpt("GPT-2 small", "124 M (its checkpoint; 117 M in table 2)", 768, 12, 12, 1024),
    "gpt-2-medium": _gpt("GPT-2 medium", "355 M (its checkpoint; 345 M in table 2)", 1024, 24, 16, 1024),
    "gpt-2-large": _gpt("GPT-2 large", "774 M (its checkpoint; 762 M in table 2)", 1280, 36, 20, 1024),
    "gpt-2-xl": _gpt("GPT-2 XL", "1.5 B (Radford 2019, table 2: 1542 M)", 1600, 48, 25, 1024),
    "gpt-3": GPT3,
    "gpt-3-banded": replace(
        GPT3, title="GPT-3, every second layer in bands of 256", said="175 B", config=replace(GPT3.config, window=256)
    ),
    "transformer-xl": _transformer_xl("Transformer-XL", "151 M (Dai 2019, table 1)", 150, **XL_BASE),
    "transformer-xl-large": _transformer_xl(
        "Transformer-XL large", "257 M (Dai 2019, table 1; its checkpoint has 285 M)", 384, **XL_LARGE
    ),
}
