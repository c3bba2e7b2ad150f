"""Colours of states, as people see them who tell red and green apart badly or not at all."""

from itertools import combinations

import numpy as np
import pytest

from app.charts.pictures.drawing import LOOKS, Theme, ThemeLook
from app.statistics.group_labels import FloatArray

DEUTERANOPIA = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]])
"""Of linear RGB, for people without green cones: Machado, Oliveira and Fernandes (2009), severity 1."""

TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


@pytest.mark.parametrize("theme", [Theme.LIGHT, Theme.DARK])
def test_states_differ_for_people_without_green_cones(theme: Theme) -> None:
    look = LOOKS[theme]

    distances = {
        (first, second): np.linalg.norm(see(look, first) - see(look, second))
        for first, second in combinations(("fair", "suspected", "unfair", "other"), 2)
    }

    assert {pair for pair, distance in distances.items() if distance < 20} == set()


def see(look: ThemeLook, state: str) -> FloatArray:
    """The state's colour in CIE Lab (D65)."""
    colour = getattr(look, state)
    encoded = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(DEUTERANOPIA @ linear, 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
