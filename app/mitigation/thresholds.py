"""Parity mode: for each monitored group the score from which its unfavourable outcomes are lifted. No labels are used.

A group's threshold is the highest that brings its favourable rate to the goal: only as many records as needed, those with the highest
scores, are lifted (but records of one score are lifted together).
"""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..domain.mitigation import ParityGoal
from ..domain.outcomes import Outcome
from ..records.grouping import Grouping

ALMOST = 1e-9
"""Records: max rounding error of a goal times a rate times a number of records."""

FEW = "has {n:,} classified records with a probability, and {least:,} are needed"
REFERENCE_FEW = "the reference group has {n:,} classified records, and {least:,} are needed"
MET = "meets the goal as it is"
UNSCORED = "none of its unfavourable records has a probability"


@dataclass(slots=True)
class Thresholds:
    """The threshold of each group that gets one, by label, and the reasons where others get none."""

    thresholds: dict[str, float] = field(default_factory=dict)
    untouched: dict[str, str] = field(default_factory=dict)


def fit_thresholds(grouping: Grouping, outcomes: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], goal: ParityGoal) -> Thresholds:
    """Returns the thresholds that lift each monitored group to the goal; `scores` are of the favourable outcome, NaN where missing."""
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
            own, own_scores = outcomes[members], scores[members]
            favourable = int((own == Outcome.FAVOURABLE).sum())
            missing = math.ceil(goal.disparate_impact * rate * len(own) - favourable - ALMOST)
            liftable = np.sort(own_scores[(own == Outcome.UNFAVOURABLE) & ~np.isnan(own_scores)])[::-1]
            if missing <= 0:
                found.untouched[group.label] = MET
            elif not len(liftable):
                found.untouched[group.label] = UNSCORED
            else:
                # Where scores are missing, the goal may be out of reach: then everything that can be lifted is.
                found.thresholds[group.label] = float(liftable[min(missing, len(liftable)) - 1])
    return found
