"""One implementation whose memory and time are measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Subject:
    """A program step together with the way to make its inputs.

    Attributes
    ----------
    name : str
        What the implementation is called in results and messages.
    fresh : callable
        ``fresh()`` returns new inputs, the same values in new memory each time. It runs outside the timed
        part, so let it copy prepared arrays rather than draw random numbers.
    step : callable
        ``step(inputs)`` runs forward and backward and returns every output and gradient: arrays in any
        nesting of dicts, tuples and lists.
    library : {"numpy", "torch", "cupy"}
        Whose allocator the step draws on.
    """

    name: str
    fresh: Callable[[], object]
    step: Callable[[object], object]
    library: Literal["numpy", "torch", "cupy"]
