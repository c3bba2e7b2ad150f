"""Thresholds of parity mode: fitted to a few records, and applied to one."""

import numpy as np

from app.domain.mitigation import ParityGoal, Profile
from app.domain.records import Prediction
from app.mitigation.live.debiasing import Debiased, LiveGroup, hold_to_thresholds
from app.mitigation.thresholds import fit_thresholds
from app.records.grouping import Grouping
from tests.unit.mitigation.copies import GROUPS, HOME

RENT, FREE, OWN = 0, 1, 2
GOAL = ParityGoal(attribute="housing", disparate_impact=0.8, min_group_size=4)


def held_to_thresholds(own: Prediction, groups: dict[str, str], profile: Profile) -> Debiased:
    """The decision of one record of these monitored groups in parity mode."""
    (found,) = hold_to_thresholds([own], [[LiveGroup(attribute, "monitored", label) for attribute, label in groups.items()]], profile)
    return found


def thresholds(
    codes: list[int], outcomes: list[int], scores: list[float], goal: ParityGoal = GOAL
) -> tuple[dict[str, float], dict[str, str]]:
    """The thresholds fitted to these records, and why the other groups have none."""
    grouping = Grouping(HOME, GROUPS, np.array(codes, dtype=np.int64))
    found = fit_thresholds(grouping, np.array(outcomes, dtype=np.int64), np.array(scores), goal)
    return found.thresholds, found.untouched
