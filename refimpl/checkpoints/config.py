"""Reading and writing the config.json beside a checkpoint."""

import json
from pathlib import Path

from refimpl.checkpoints.errors import refusal
from refimpl.checkpoints.json_text import parse_json
from refimpl.checkpoints.reader import open_checkpoint

MOST_BYTES = 2**20
DEPTH = 32


def read_config(path):
    """Read a config.json that nobody vouches for.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    dict of str to object
        Its settings.

    Raises
    ------
    CheckpointError
        If the file cannot be read, is larger than 1 MB, is not strict JSON (a name twice, NaN, nesting over
        32 levels), or is not an object.
    """
    path = Path(path)
    with open_checkpoint(path) as stream:
        text = stream.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise refusal(path, f"at most {MOST_BYTES} bytes", "more")
    config = parse_json(text, path=path, max_depth=DEPTH)
    if not isinstance(config, dict):
        raise refusal(path, "a JSON object", f"a {type(config).__name__}")
    return config


def write_config(path, config):
    """Write a config.json.

    Parameters
    ----------
    path : str or os.PathLike
        The file, replaced if it exists.
    config : dict of str to object
        The settings.
    """
    text = json.dumps(config, indent=2, sort_keys=True, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")
