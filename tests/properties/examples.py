"""Run a check on many drawn calls of a component."""

import pytest
from hypothesis import Phase, given, settings

from tests.properties.registry import COMPONENTS

N_PLANTED = 100


def run(check, component, *, shrink=True, weight=1):
    """Draw calls of `component` and check each; slow components and slow checks get fewer.

    Without `shrink` something wrong is looked for, and the first example that shows it is the last: there may be many,
    for which ones are drawn depends on the modules that were imported before.
    """
    profile = settings.get_profile(settings.get_current_profile_name())
    n = max(profile.max_examples // (weight * component.weight), 5 if shrink else N_PLANTED)
    # Explaining a failure runs the slow ones for minutes.
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]

    @settings(max_examples=n, phases=phases)
    @given(component.calls)
    def examples(call):
        check(component, call)

    examples()


def for_each(components=COMPONENTS):
    return pytest.mark.parametrize("component", components, ids=str)
