"""Reading and writing the weights of trained models; every file is hostile until read."""

from refimpl.checkpoints.bert_settings import bert_config_from_hf, bert_config_to_hf
from refimpl.checkpoints.config import read_config
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families import FAMILIES, Family, family_named
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder
from refimpl.checkpoints.npz import read_npz
from refimpl.checkpoints.reader import read_safetensors
from refimpl.checkpoints.writer import write_safetensors

__all__ = [
    "FAMILIES",
    "Checkpoint",
    "CheckpointError",
    "Family",
    "bert_config_from_hf",
    "bert_config_to_hf",
    "family_named",
    "load_folder",
    "read_config",
    "read_npz",
    "read_safetensors",
    "save_folder",
    "write_safetensors",
]
