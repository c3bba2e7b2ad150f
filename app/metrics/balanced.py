"""Measures balanced data, on which every record stands once on each side: as it is, and as its counterfactuals are. And flips."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from app.metrics.estimates import Counted, Estimate, Words
from app.metrics.evidence import Evidence
from app.metrics.groups import IntArray
from app.metrics.measure import measure_all
from app.metrics.paired import Paired
from app.metrics.payload import FAVOURABLE
from app.metrics.tables import BalancedCells
from app.metrics.values import Measured
from app.metrics.worst import NO_LIMITS, AllLimits

BALANCED = Words(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="the balanced reference rate is zero: none of {n} records is favourable with a reference value",
    no_counterfactual="no counterfactual of a record{of} was classified",
)
FLIPPED = Words(noun="flipped", empty="no copy of a record{of} was classified")


def measure_balanced(table: BalancedCells, *, metrics: Collection[str] | None = None, limits: AllLimits = NO_LIMITS) -> list[Measured]:
    """Returns the balanced favourable rates of one attribute, how they compare, and flip rates.

    By the `limits` of each metric (those of the catalogue unless given) its worst value is chosen. A group without an original
    record has no balanced rate, though its counterfactuals count in the pooled ones.
    """
    estimates: dict[str, Estimate] = {"favourable": balanced_rate(table), **_flips(table)}
    return measure_all("balanced", Evidence(groups=table.groups, estimates=estimates, limits=limits), metrics)


def balanced_rate(table: BalancedCells) -> Estimate:
    """Returns the balanced favourable rate; where no record has a copy, for the model does not see the attribute, that of payload."""
    if table.copies_classified.any():
        return Paired(BALANCED, table)
    size = len(table.groups)
    total = np.bincount(table.group, table.count, minlength=size).astype(np.int64)
    return Counted(FAVOURABLE, np.bincount(table.group, table.count * table.outcome, minlength=size).astype(np.int64), total)


def _flips(table: BalancedCells) -> dict[str, Estimate]:
    crossing = table.crossing()
    favourable = (crossing * table.copies_favourable).sum(axis=1) > 0
    unfavourable = (crossing * (table.copies_classified - table.copies_favourable)).sum(axis=1) > 0
    gained, lost = favourable & (table.outcome == 0), unfavourable & (table.outcome == 1)
    total = _by_group(table, favourable | unfavourable)
    return {
        name: Counted(FLIPPED, _by_group(table, kinds), total)
        for name, kinds in (("flipped", gained | lost), ("gained", gained), ("lost", lost))
    }


def _by_group(table: BalancedCells, kinds: npt.NDArray[np.bool_]) -> IntArray:
    """How many records of those kinds each group has."""
    return np.bincount(table.group, table.count * kinds, minlength=len(table.groups)).astype(np.int64)
