"""Models of published sizes: the text, the sizes, and the number of parameters that their authors name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from compare.interpretations import cost
from refimpl.checkpoints.families.bert.names import bert_rows
from refimpl.checkpoints.families.encoder_decoder.names import encoder_decoder_rows
from refimpl.checkpoints.families.gpt.names import gpt_rows
from refimpl.checkpoints.families.transformer_xl.names import transformer_xl_rows
from refimpl.checkpoints.name_map import Row
from refimpl.models.bert.config import BertConfig
from refimpl.models.bert.heads import bert_for_pretraining
from refimpl.models.decoder.config import decoder_shapes
from refimpl.models.decoder.families import bloom_config, gpt_neox_config, llama_config, mixtral_config
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.mixture import Mixture
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


def _evenly(token_ids, params, *, config):
    """Give all experts the same to do: what routers are trained for, and what shapes can tell."""
    n_seq = token_ids.shape[1]
    feeds = tuple(
        replace(feed, capacity=ceil(feed.n_chosen * n_seq / feed.n_expert)) if isinstance(feed, Mixture) else feed
        for feed in config.feeds
    )
    return decoder_lm(token_ids, params, config=replace(config, feeds=feeds))


def _decoder(title, said, config, longest):
    rows = tuple(Row(key, (key,), shape, "") for key, shape in decoder_shapes(config).items())
    return Published(title, said, _evenly, config, rows, _ids, longest)


def _transformer_xl(title, said, n_memory, **sizes):
    config = TransformerXLConfig(267735, (20000, 40000, 200000), n_memory=n_memory, **sizes)

    def inputs(n_batch, n_seq, dtype):
        memory = cost.empty((config.n_layer, n_batch, n_memory, config.d_model), dtype)
        return (*_ids(n_batch, n_seq, dtype), memory)

    return Published(title, said, transformer_xl_lm, config, tuple(transformer_xl_rows(config)), inputs, 2048)


GPT3 = _gpt("GPT-3", "175 B (Brown 2020, table 2.1)", 12288, 96, 96, 2048)
LLAMA = {"vocab_size": 32000, "d_model": 4096, "n_layer": 32, "n_head": 32}
NEOX = {"vocab_size": 50432, "d_model": 6144, "n_layer": 44, "n_head": 64, "d_ff": 24576, "d_rotary": 24}
BLOOM = {"vocab_size": 250880, "d_model": 14336, "n_layer": 70, "n_head": 112}
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
    "llama-7b": _decoder(
        "Llama 7B", "6.7 B (Touvron 2023, table 2)", llama_config(**LLAMA, d_ff=11008), 2048
    ),
    "mixtral-8x7b": _decoder(
        "Mixtral 8x7B",
        "47 B, of which 13 B for a token (Jiang 2024, section 3)",
        mixtral_config(**LLAMA, n_kv_head=8, d_ff=14336, n_expert=8, n_chosen=2),
        32768,
    ),
    "gpt-neox-20b": _decoder("GPT-NeoX-20B", "20 B (Black 2022, table 1)", gpt_neox_config(**NEOX), 2048),
    "bloom": _decoder("Bloom", "176 B (Le Scao 2022, table 3)", bloom_config(**BLOOM), 2048),
    "transformer-xl": _transformer_xl("Transformer-XL", "151 M (Dai 2019, table 1)", 150, **XL_BASE),
    "transformer-xl-large": _transformer_xl(
        "Transformer-XL large", "257 M (Dai 2019, table 1; its checkpoint has 285 M)", 384, **XL_LARGE
    ),
}
