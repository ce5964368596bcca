"""Reading and writing the weights of trained models; every file is hostile until read."""

from refimpl.checkpoints.bert import from_hf_bert, load_bert, save_bert, to_hf_bert
from refimpl.checkpoints.bert_settings import bert_config_from_hf, bert_config_to_hf
from refimpl.checkpoints.config import read_config
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.npz import read_npz
from refimpl.checkpoints.reader import read_safetensors
from refimpl.checkpoints.writer import write_safetensors

__all__ = [
    "CheckpointError",
    "bert_config_from_hf",
    "bert_config_to_hf",
    "from_hf_bert",
    "load_bert",
    "read_config",
    "read_npz",
    "read_safetensors",
    "save_bert",
    "to_hf_bert",
    "write_safetensors",
]
