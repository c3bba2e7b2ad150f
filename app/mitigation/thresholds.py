"""Parity mode: for each monitored group the score from which its unfavourable outcomes are lifted. No labels are used.

A group's threshold is the highest that brings its favourable rate to the goal: so many of its records with the highest scores are
lifted, and no more (but for records of one score, which are lifted together).
"""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.checks.grouping import Grouping
from app.domain.mitigation import ParityGoal
from app.domain.outcomes import Outcome

ALMOST = 1e-9
"""Of a record: what a goal times a rate times a number of records may be off by rounding."""

FEW = "has {n:,} classified records with a probability, and {least:,} are needed"
REFERENCE_FEW = "the reference group has {n:,} classified records, and {least:,} are needed"
MET = "meets the goal as it is"
UNSCORED = "none of its unfavourable records has a probability"


@dataclass(slots=True)
class Thresholds:
    """The threshold of each group that gets one, by label, and why others get none."""

    thresholds: dict[str, float] = field(default_factory=dict)
    untouched: dict[str, str] = field(default_factory=dict)


def parity_thresholds(grouping: Grouping, outcomes: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], goal: ParityGoal) -> Thresholds:
    """The thresholds that lift each monitored group to the goal; `scores` are of the favourable outcome, NaN where there is none."""
    found = Thresholds()
    classified = outcomes != Outcome.UNCLASSIFIED
    is_reference = np.append(~grouping.is_monitored(), False)[grouping.codes] & classified
    reference = int(is_reference.sum())
    for position, group in enumerate(grouping.groups):
        if group.role != "monitored":
            continue
        members = (grouping.codes == position) & classified
        scored = int((members & ~np.isnan(scores)).sum())
        if reference < goal.min_group_size:
            found.untouched[group.label] = REFERENCE_FEW.format(n=reference, least=goal.min_group_size)
        elif scored < goal.min_group_size:
            found.untouched[group.label] = FEW.format(n=scored, least=goal.min_group_size)
        else:
            rate = float((outcomes[is_reference] == Outcome.FAVOURABLE).mean())
            threshold = _threshold(outcomes[members], scores[members], goal.disparate_impact * rate)
            if isinstance(threshold, str):
                found.untouched[group.label] = threshold
            else:
                found.thresholds[group.label] = threshold
    return found


def _threshold(outcomes: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], rate: float) -> float | str:
    """The score from which unfavourable records are lifted so that the favourable rate reaches `rate`; or why there is none."""
    favourable = int((outcomes == Outcome.FAVOURABLE).sum())
    missing = math.ceil(rate * len(outcomes) - favourable - ALMOST)
    if missing <= 0:
        return MET
    liftable = np.sort(scores[(outcomes == Outcome.UNFAVOURABLE) & ~np.isnan(scores)])[::-1]
    # Where scores are missing, the goal may be out of reach: then everything that can be lifted is.
    return float(liftable[min(missing, len(liftable)) - 1]) if len(liftable) else UNSCORED
