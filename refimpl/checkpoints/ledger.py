"""The ledger: the conventions in which families of models differ, read from ledger.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@dataclass(frozen=True)
class Setting:
    """A convention that config.json may change.

    Attributes
    ----------
    key : str
        The key of config.json; empty where there is none.
    default : object
        What an absent key or null means to `transformers`; where there is no key, what always holds.
    """

    key: str
    default: object

    def of(self, settings):
        """Look it up in a config.json.

        Parameters
        ----------
        settings : dict of str to object
            What config.json holds.

        Returns
        -------
        object
            What it says, or the default.
        """
        said = settings.get(self.key)
        return self.default if said is None else said


@dataclass(frozen=True)
class Conventions:
    """The conventions of one family; ledger.toml says what each may be.

    Attributes
    ----------
    title : str
        The family's name.
    class_name : str
        A class of `transformers`.
    prefix : str
        In front of the backbone's names in a model that has a head.
    blocks : list of str
        The stacks of blocks in the backbone, by their names.
    weights, qkv, norm, norm_place, positions : str
        How matrices lie; how query, key and value are kept; which norm, and where; how positions come in.
    norm_eps, activation, tied, pad : Setting
        The eps of the norms; the activation; whether the head is tied; the padding token.
    activations : dict of (str, str)
        What the names of activations mean.
    tied_names : dict of (str, str)
        By the second name of an array its first.
    norm_offset : float
        Added to a stored weight of a norm.
    position_offset : int or str
        The row of the position table that the first token has; a text is a formula of settings.
    rotary : str
        The layout of pairs of features; empty where nothing is turned.
    embedding_scale : Setting
        Whether embeddings are multiplied by sqrt(d_model).
    attention_scale : str
        What scores are multiplied by.
    other_keys : dict of (str, str)
        By the second key of a setting its first.
    """

    title: str
    class_name: str
    prefix: str
    blocks: list
    weights: str
    qkv: str
    norm: str
    norm_place: str
    positions: str
    norm_eps: Setting
    activation: Setting
    activations: Mapping
    tied: Setting
    tied_names: Mapping
    pad: Setting
    norm_offset: float = 0.0
    position_offset: int | str = 0
    rotary: str = ""
    embedding_scale: Setting = field(default_factory=lambda: Setting("", False))
    attention_scale: str = "1/sqrt(d_head)"
    other_keys: Mapping = field(default_factory=dict)

    def defaults(self):
        """Collect what absent keys of config.json mean.

        Returns
        -------
        dict of (str, object)
            By key.
        """
        settings = [getattr(self, entry.name) for entry in fields(self) if entry.type is Setting]
        return {setting.key: setting.default for setting in settings if setting.key}


@cache
def _ledger():
    text = files("refimpl.checkpoints").joinpath("ledger.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def families():
    """List the families that the ledger knows.

    Returns
    -------
    list of str
        As config.json calls them.
    """
    return [name for name in _ledger() if name != "gates"]


@cache
def conventions(model_type):
    """Look up the conventions of a family.

    Parameters
    ----------
    model_type : str
        As config.json calls it.

    Returns
    -------
    Conventions
        Its entry of the ledger.
    """
    entry = dict(_ledger()[model_type])
    entry["class_name"] = entry.pop("class")
    return Conventions(**{key: _parsed(value, key) for key, value in entry.items()})


def gate_orders():
    """Look up the order of the gates of recurrent cells.

    Returns
    -------
    dict of (str, dict of (str, str))
        By library and kind of cell, one letter for each gate.
    """
    return _ledger()["gates"]


def _parsed(value, key):
    if not isinstance(value, dict):
        return value
    if key in ("activations", "tied_names", "other_keys"):
        return MappingProxyType(value)
    return Setting("", value["value"]) if "value" in value else Setting(value["key"], value["default"])
