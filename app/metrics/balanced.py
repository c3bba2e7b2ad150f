"""Measures balanced data, in which every record counts once on each side, and flips."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from .estimates import Counted, Words
from .evidence import Estimate, TableEvidence
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
UNCOPIED = "no counterfactual of a record{of} was classified"


def measure_balanced(table: BalancedCells, *, metrics: Collection[str] | None = None, limits: AllLimits = NO_LIMITS) -> list[Measured]:
    """Balanced favourable rates of one attribute, their comparisons, and flip rates.

    The worst value is chosen by `limits` (default: the catalogue's). A group without an original record has no balanced rate.
    """
    crossing = table.crossing()
    to_favourable = (crossing * table.copies_favourable).sum(axis=1) > 0
    to_unfavourable = (crossing * (table.copies_classified - table.copies_favourable)).sum(axis=1) > 0
    gained, lost = to_favourable & (table.outcome == 0), to_unfavourable & (table.outcome == 1)
    compared = to_favourable | to_unfavourable
    estimates: dict[str, Estimate] = {"favourable": balanced_rate(table)}
    for name, kinds in (("flipped", gained | lost), ("gained", gained), ("lost", lost)):
        estimates[name] = _count_share(Words(name, UNCOPIED), table, kinds, compared)
    return measure_all("balanced", TableEvidence(groups=table.groups, estimates=estimates, limits=limits), metrics)


def balanced_rate(table: BalancedCells) -> Estimate:
    """Balanced favourable rate; that of payload where no record has a counterfactual."""
    if table.copies_classified.any():
        return Paired(BALANCED, table)
    return _count_share(FAVOURABLE, table, table.outcome == 1, np.ones(len(table.count), np.bool_))


def _count_share(words: Words, table: BalancedCells, kinds: npt.NDArray[np.bool_], of_kinds: npt.NDArray[np.bool_]) -> Counted:
    parts = (kinds, of_kinds)
    count, total = (np.bincount(table.group, table.count * part, minlength=len(table.groups)).astype(np.int64) for part in parts)
    if table.weight is None:
        return Counted(words, count, total)
    powers = (table.count * table.weight, table.count * table.weight**2)
    sums = [np.bincount(table.group, power * part, minlength=len(table.groups)) for power in powers for part in parts]
    return Counted(words, count, total, np.stack(sums, axis=-1))
