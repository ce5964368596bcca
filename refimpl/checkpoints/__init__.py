"""Reading and writing the weights of trained models; every file is hostile until read."""

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.bert.settings import bert_config_from_hf, bert_config_to_hf
from refimpl.checkpoints.families.registry import FAMILIES, Family, family_named
from refimpl.checkpoints.files.config import read_config
from refimpl.checkpoints.files.npz import read_npz
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder

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
