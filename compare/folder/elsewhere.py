"""Transformer-XL of a folder, which only an older `transformers` loads: run in the environment of that one."""

from dataclasses import dataclass
from pathlib import Path

from compare.folder.ours import Seen
from compare.peers.other_environment import ask, what_is_missing
from refimpl.checkpoints import CheckpointError

PEER = "transformers 4.36.2"


@dataclass(frozen=True)
class Elsewhere:
    """A model of `transformers` 4.36.2 in a process of its own.

    Attributes
    ----------
    folder : path-like
        The folder; nothing but safetensors is read of it, and no code.
    class_name : str
        The class.
    dtype : {"float64", "float32"}
        What its weights become.
    """

    folder: str
    class_name: str
    dtype: str

    def run(self, ids, *, true=None, note=None):
        """Run it and look at every stage.

        Parameters
        ----------
        ids : dict of (str, numpy.ndarray)
            As for `compare.folder.ours.run_ours`.
        true : dict of (str, numpy.ndarray), optional
            By stage what it shall hand to the next, instead of what it returns.
        note : callable, optional
            Called once for every stage.

        Returns
        -------
        Seen
            What it showed.
        """
        asked = {"folder": str(Path(self.folder).resolve()), "class_name": self.class_name, "dtype": self.dtype}
        arrays = {"ids": ids["token_ids"], "memory": ids["memory"].astype(self.dtype)}
        arrays |= {f"true:{stage}": x.astype(self.dtype) for stage, x in (true or {}).items()}
        stages = ask(asked, arrays)
        for _ in stages if note else ():
            note()
        return Seen(stages)


def is_elsewhere(model_type):
    """Tell whether a family is gone from the `transformers` of this environment.

    Parameters
    ----------
    model_type : str
        The family.

    Returns
    -------
    bool
        True for Transformer-XL.
    """
    return model_type == "transfo-xl"


def check_elsewhere(folder):
    """Refuse a folder whose peer has no environment here.

    Parameters
    ----------
    folder : path-like
        The folder.

    Raises
    ------
    CheckpointError
        One sentence that says how to get it.
    """
    if missing := what_is_missing():
        raise CheckpointError(f"{folder}: nothing to compare with: of {PEER}, the last with Transformer-XL, {missing}")
