"""The standing ablation: every switch has a place, and a part that is off is off."""

from __future__ import annotations

from importlib import import_module

import pytest

from evals.ablate import SWITCHES, switch_off
from evals.harness import NAMES


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_changes_its_place_and_gives_it_back(name: str) -> None:
    switch = SWITCHES[name]
    place, _, attribute = switch.place.partition(":")
    owner = import_module(place)
    whole = getattr(owner, attribute)
    with switch_off(switch):
        assert getattr(owner, attribute) != whole
    assert getattr(owner, attribute) is whole
    assert set(switch.evaluations) <= set(NAMES)
