"""Compare a folder with its own model in `transformers`, in which something is spoiled."""

import torch

from compare.folder.inputs import draw_inputs
from compare.folder.job import _lengths
from compare.folder.layers import compare_layers
from compare.folder.ours import KINDS
from compare.folder.theirs import load_theirs
from refimpl.checkpoints import FAMILIES, load_folder
from tests.checkpoints.tiny import ELSEWHERE

CLASSES = [
    (name, class_name)
    for name in KINDS
    if name not in ELSEWHERE
    for class_name in sorted({*FAMILIES[name].names.architectures.values()})
]


def compared(folder, class_name, dtype, spoil=None):
    """Run the comparison in this process."""
    checkpoint = load_folder(folder)
    names = FAMILIES[checkpoint.model_type].names
    groups, _ = names.architecture(checkpoint.params, checkpoint.config, [class_name])
    theirs = load_theirs(folder, class_name, dtype)
    if spoil:
        with torch.no_grad():
            spoil(theirs.model)
    n_batch, n_seq, _ = _lengths(checkpoint, groups, None, 9)
    inputs = draw_inputs(checkpoint.model_type, checkpoint.config, n_batch=n_batch, n_seq=n_seq)
    return compare_layers(checkpoint, groups, theirs, inputs, dtype)
