"""Llama and Mistral, all hidden states and the logits, against `transformers`."""

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.decoder import draw_decoder, state_names, with_blocks
from compare.peers.transformers_decoder import call_decoder, their_config
from refimpl.attention.grouped_query_layer import grouped_query_self_attention
from refimpl.checkpoints.llama_settings import llama_config_to_hf
from refimpl.layers.rms_norm import rms_norm
from refimpl.models.decoder import attend, lm, model, parts
from refimpl.models.decoder.config import PROJECTIONS
from refimpl.models.decoder.families import llama_config
from refimpl.positions.rotary_scaling import DynamicNtkScaling, LinearScaling, Llama3Scaling, YarnScaling
