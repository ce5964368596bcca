"""The registry holds every component there is."""

import importlib
import inspect
import pkgutil

import refimpl
from tests.properties.registry import COMPONENTS

FOLDERS = ("layers", "positions", "recurrent", "attention", "blocks", "models")
# They take a tuple of any number of arrays; they are registered as the networks that are made of them.
PARTS = {"recurrent_layer", "recurrent_stack", "stack"}


def components_of(package):
    """Public functions that hold a pullback."""
    for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module_info.name.split(".")[1] not in FOLDERS:
            continue
        module = importlib.import_module(module_info.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            is_public = function.__module__ == module.__name__ and not name.startswith("_")
            if is_public and name not in PARTS and "    def pullback(" in inspect.getsource(function):
                yield function


def test_every_component_is_registered():
    """A new component gets an entry in tests/properties/family_*.py, and with it every property."""
    unregistered = set(components_of(refimpl)) - {component.function for component in COMPONENTS}
    assert not unregistered, sorted(f"{f.__module__}.{f.__name__}" for f in unregistered)


def test_every_component_is_registered_once():
    assert len({component.function for component in COMPONENTS}) == len(COMPONENTS)
