"""Run a check on many drawn calls of a component."""

import pytest
from hypothesis import Phase, given, settings

from tests.properties.registry import COMPONENTS


def run(check, component, *, shrink=True):
    """Draw calls of `component` and check each; slow components get fewer."""
    profile = settings.get_profile(settings.get_current_profile_name())
    n = max(profile.max_examples // component.weight, 5)
    phases = profile.phases if shrink else [Phase.generate]

    @settings(max_examples=n, phases=phases)
    @given(component.calls)
    def examples(call):
        check(component, call)

    examples()


def for_each(components=COMPONENTS):
    return pytest.mark.parametrize("component", components, ids=str)
