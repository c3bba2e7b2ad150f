"""Measures balanced data, in which every record counts once on each side: as logged, and as its counterfactuals. Measures flips too."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from .estimates import Counted, Estimate, Words
from .evidence import TableEvidence
from .groups import IntArray
from .measure import measure_all
from .paired import Paired
from .payload import FAVOURABLE
from .tables import BalancedCells
from .values import Measured
from .worst import NO_LIMITS, AllLimits

BALANCED = Words(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="the balanced reference rate is zero: none of {n} records is favourable with a reference value",
    no_counterfactual="no counterfactual of a record{of} was classified",
)
FLIPPED = Words(noun="flipped", empty="no counterfactual of a record{of} was classified")


def measure_balanced(table: BalancedCells, *, metrics: Collection[str] | None = None, limits: AllLimits = NO_LIMITS) -> list[Measured]:
    """Returns the balanced favourable rates of one attribute, how they compare, and flip rates.

    The worst value of each metric is chosen by its `limits` (those of the catalogue unless given). A group without an original
    record has no balanced rate, though its counterfactuals count in the pooled ones.
    """
    crossing = table.crossing()
    to_favourable = (crossing * table.copies_favourable).sum(axis=1) > 0
    to_unfavourable = (crossing * (table.copies_classified - table.copies_favourable)).sum(axis=1) > 0
    gained, lost = to_favourable & (table.outcome == 0), to_unfavourable & (table.outcome == 1)
    total = _count_by_group(table, to_favourable | to_unfavourable)
    estimates: dict[str, Estimate] = {"favourable": balanced_rate(table)}
    for name, kinds in (("flipped", gained | lost), ("gained", gained), ("lost", lost)):
        estimates[name] = Counted(FLIPPED, _count_by_group(table, kinds), total)
    return measure_all("balanced", TableEvidence(groups=table.groups, estimates=estimates, limits=limits), metrics)


def balanced_rate(table: BalancedCells) -> Estimate:
    """Returns the balanced favourable rate; the rate of payload where no record has a counterfactual (attribute not seen by the model)."""
    if table.copies_classified.any():
        return Paired(BALANCED, table)
    size = len(table.groups)
    total = np.bincount(table.group, table.count, minlength=size).astype(np.int64)
    return Counted(FAVOURABLE, np.bincount(table.group, table.count * table.outcome, minlength=size).astype(np.int64), total)


def _count_by_group(table: BalancedCells, kinds: npt.NDArray[np.bool_]) -> IntArray:
    """Counts the records of those kinds in each group."""
    return np.bincount(table.group, table.count * kinds, minlength=len(table.groups)).astype(np.int64)
