"""A case says what is compared: inputs, the reference, its peers, and the wrong variants it must reject."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

DTYPES = ("float64", "float32", "float16", "bfloat16")
SECTIONS = ("layers", "positions", "recurrent", "attention", "blocks", "models")  # in the order of the catalogue


@dataclass(frozen=True)
class Inputs:
    """What a component is called with.

    Attributes
    ----------
    args : tuple of (numpy.ndarray or dict of numpy.ndarray)
        The positional arguments: floats in float64, integer ids, parameters.
    masks : dict of numpy.ndarray
        Keyword arguments that are arrays, such as masks.
    """

    args: tuple
    masks: Mapping = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """One point of a case's input domain.

    Attributes
    ----------
    name : str
        Its name within the case.
    sizes : dict
        Handed to the case's `inputs`: sizes, scales, kinds of masks.
    settings : dict
        Keyword settings handed to the reference, the peers and the planted bugs alike.
    profile : {"quick", "full"}
        The full profile runs the quick configurations too.
    measured : bool
        Whether memory and throughput are measured here.
    oracles : bool
        False where, by convention, the gradient is not the derivative of the forward (a padding row that is never
        trained): then the case's derivative oracles have no say.
    judged : bool
        False where only memory and throughput are of interest, and accuracy is judged on smaller inputs.
    """

    name: str
    sizes: Mapping
    settings: Mapping = field(default_factory=dict)
    profile: str = "quick"
    measured: bool = False
    oracles: bool = True
    judged: bool = True


@dataclass(frozen=True)
class Case:
    """A component, and everything it is compared with.

    Attributes
    ----------
    name : str
        The component's name, as typed on the command line.
    section : str
        Where it stands in the catalogue: one of `SECTIONS`.
    title : str
        Its name in words.
    reference : callable
        ``reference(*args, **masks, **settings) -> (y, pullback)``.
    inputs : callable
        ``inputs(generator, **sizes) -> Inputs``; random, never degenerate.
    configs : tuple of Config
        The input domain.
    peers : dict of (str, callable)
        Implementations to compare with: functions of the same signature on torch tensors that return y.  HIPS
        autograd and complex step run the reference's own forward and need no entry.
    elsewhere : dict of (str, callable)
        Peers that run in an environment of their own: by name a function that says what is missing there, or nothing.
        Such a peer is left out where something is missing, and whoever runs the case is told.
    bugs : dict of (str, callable)
        Planted bugs: wrong variants of the reference, of the same signature, that the comparison must reject.
    dtypes : tuple of str
        The dtypes in which it is judged.
    outputs : tuple of str
        The names of the outputs, where there are several.
    extended_truth : bool
        Whether float64 is judged by a longdouble truth; False where that would take too long: then the truth is
        rounded as well, and the tolerance is that of two runs.
    oracles : tuple of str
        Which of ``"autograd"`` and ``"complex_step"`` check the pullback in float64.
    sums_in_storage : tuple of str
        Peers whose kernels keep sums and statistics of 16-bit numbers in 16 bits; in those dtypes they are judged
        under that policy, and their rows say so.
    coarse_erf : tuple of str
        Peers whose kernels evaluate erf by a polynomial that is coarser than float32; in float32 they are judged under
        that policy, and their rows say so.
    plant_in : tuple of str
        The names of the configurations in which the bugs are planted; by default the quick ones that are not measured.
    cotangents : callable, optional
        ``cotangents(generator, outputs) -> list``; by default standard normal ones for every output.
    study : callable, optional
        ``study(seed) -> dict``: a measurement beside the comparison, which the report draws; its form is that of
        ``study`` in the schema of the report.
    """

    name: str
    section: str
    title: str
    reference: Callable
    inputs: Callable
    configs: tuple
    peers: Mapping
    elsewhere: Mapping = field(default_factory=dict)
    bugs: Mapping = field(default_factory=dict)
    dtypes: tuple = DTYPES
    outputs: tuple = ("y",)
    extended_truth: bool = True
    oracles: tuple = ("autograd", "complex_step")
    sums_in_storage: tuple = ()
    coarse_erf: tuple = ()
    plant_in: tuple = ()
    cotangents: Callable | None = None
    study: Callable | None = None

    def missing_peers(self):
        """Find the peers that cannot run here.

        Returns
        -------
        dict of (str, str)
            By name what is missing, and how to get it.
        """
        told = {name: what_is_missing() for name, what_is_missing in self.elsewhere.items()}
        return {name: sentence for name, sentence in told.items() if sentence}

    def peers_here(self):
        """List the peers that can run here.

        Returns
        -------
        tuple of str
            Their names.
        """
        missing = self.missing_peers()
        return tuple(name for name in self.peers if name not in missing)

    def planted_configs(self):
        """Say in which configurations the bugs are planted.

        Returns
        -------
        list of Config
            One of them at least must reject each bug.
        """
        if self.plant_in:
            return [self.config_named(name) for name in self.plant_in]
        return [config for config in self.configs if config.profile == "quick" and not config.measured]

    def config_named(self, name):
        """Look up a configuration.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Config
            The configuration.

        Raises
        ------
        ValueError
            If the case has none of this name.
        """
        for config in self.configs:
            if config.name == name:
                return config
        known = ", ".join(config.name for config in self.configs)
        raise ValueError(f"config must be one of {known} for case {self.name}, got {name!r}")
