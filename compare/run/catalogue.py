"""The cases as plain data, so that the process that plans and reports need not import PyTorch."""

import difflib
from dataclasses import dataclass, field

from compare.run.problem import Problem


@dataclass(frozen=True)
class ConfigEntry:
    """What a plan needs to know of a configuration.

    Attributes
    ----------
    name, profile : str
        As in `compare.cases.case.Config`.
    measured : bool
        Whether memory and throughput are measured here.
    oracles : bool
        Whether the derivative oracles run here.
    sizes, settings : dict
        As they are printed in reports.
    """

    name: str
    profile: str
    measured: bool
    oracles: bool
    sizes: dict
    settings: dict


@dataclass(frozen=True)
class CaseEntry:
    """What a plan needs to know of a case.

    Attributes
    ----------
    name, section, title : str
        As in `compare.cases.case.Case`.
    configs : tuple of ConfigEntry
        Its configurations.
    dtypes : tuple of str
        In which it is judged.
    libraries : tuple of str
        Peers that are implementations.
    oracles : tuple of str
        Peers that check derivatives in float64.
    n_bug : int
        How many planted bugs it has.
    missing : dict of (str, str)
        Further peers, which cannot run here, and what they lack.
    """

    name: str
    section: str
    title: str
    configs: tuple
    dtypes: tuple
    libraries: tuple
    oracles: tuple
    n_bug: int
    missing: dict = field(default_factory=dict)

    def peers(self, config, dtype):
        """List the peers of a configuration in a dtype.

        Parameters
        ----------
        config : ConfigEntry
            The configuration.
        dtype : str
            The oracles take part in float64 only.

        Returns
        -------
        tuple of str
            Names of peers.
        """
        return peers_of(self.libraries, self.oracles, config, dtype)


def peers_of(libraries, oracles, config, dtype):
    """List what a configuration is compared with.

    Parameters
    ----------
    libraries, oracles : iterable of str
        Those of its case.
    config : Config or ConfigEntry
        The configuration; it may rule the oracles out.
    dtype : str
        The derivative oracles check float64 only: autograd turns float32 gradients into float64.

    Returns
    -------
    tuple of str
        Names of peers.
    """
    return (*libraries, *(oracles if config.oracles and dtype == "float64" else ()))


@dataclass(frozen=True)
class Catalogue:
    """All cases, and a digest of the files that modules outside this package add.

    Attributes
    ----------
    cases : dict of (str, CaseEntry)
        By name, in the order of the sections.
    plugins : dict of (str, str)
        The digest of each module's file.
    """

    cases: dict
    plugins: dict = field(default_factory=dict)


def describe(plugins):
    """Describe all cases; runs in a child process.

    Parameters
    ----------
    plugins : sequence of str
        Modules that add cases.

    Returns
    -------
    Catalogue
        Plain data.
    """
    import sys

    from compare.cases.registry import all_cases, register
    from compare.run.identity import digest_of_files

    for module in plugins:
        register(module)
    entries = {name: _entry(case) for name, case in all_cases().items()}
    return Catalogue(entries, {module: digest_of_files([sys.modules[module].__file__]) for module in plugins})


def _entry(case):
    configs = tuple(
        ConfigEntry(
            config.name, config.profile, config.measured, config.oracles, printable(config.sizes),
            printable(config.settings),
        )
        for config in case.configs
    )
    return CaseEntry(
        case.name, case.section, case.title, configs, tuple(case.dtypes), case.peers_here(), tuple(case.oracles),
        len(case.bugs), case.missing_peers(),
    )


def printable(settings):
    """Write settings in a form that JSON can hold.

    Parameters
    ----------
    settings : dict
        Settings or sizes of a configuration.

    Returns
    -------
    dict
        The same keys; functions become their names.
    """
    return {key: _plain(value) for key, value in settings.items()}


def _plain(value):
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, bool | int | float | str | None):
        return value
    return getattr(value, "__name__", str(value))


def check_names(what, names, known):
    """Refuse names that do not exist.

    Parameters
    ----------
    what : str
        What they name.
    names : sequence of str
        What was asked for.
    known : iterable of str
        What there is.

    Raises
    ------
    Problem
        Naming the first unknown one, and some that are close or all there are.
    """
    known = list(dict.fromkeys(known))
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else _all(known)
            raise Problem(f"there is no {what} {name!r}; {hint}")


def _all(known):
    return "`refcompare list` shows all" if len(known) > 12 else f"there are {', '.join(known) or 'none'}"
