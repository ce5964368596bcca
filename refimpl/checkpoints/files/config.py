"""Reading and writing the config.json beside a checkpoint."""

import json
from pathlib import Path

from refimpl.checkpoints.errors import refusal
from refimpl.checkpoints.files.json_text import parse_json
from refimpl.checkpoints.files.open_file import open_checkpoint

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
    return parse_object(Path(path), most_bytes=MOST_BYTES, max_depth=DEPTH)


def parse_object(path, *, most_bytes, max_depth):
    """Read a JSON object that nobody vouches for.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    most_bytes : int
        Its largest size.
    max_depth : int
        Deepest nesting.

    Returns
    -------
    dict of str to object
        The object.

    Raises
    ------
    CheckpointError
        If the file cannot be read, is too large, or is not strict JSON of an object.
    """
    with open_checkpoint(path) as stream:
        text = stream.read(most_bytes + 1)
    if len(text) > most_bytes:
        raise refusal(path, f"at most {most_bytes} bytes", "more")
    found = parse_json(text, path=path, max_depth=max_depth)
    if not isinstance(found, dict):
        raise refusal(path, "a JSON object", f"a {type(found).__name__}")
    return found


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
