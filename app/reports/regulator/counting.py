"""Tables of categories from the people of a period."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...domain.comparisons import Comparison
from ...domain.monitors import Monitor
from ...impact.categories import Category, CategoryTable
from ...impact.people import CountedPeople
from ...records.cells import MISSING
from ...records.grouping import cross

MOST_PAIRED = 3
"""Max attributes that are paired without combinations in the monitor, and that an audit combines."""


def comparisons_in(monitor: Monitor, features: Sequence[str]) -> list[Comparison]:
    """Each attribute and the monitor's combinations, or else each pair of up to `MOST_PAIRED` attributes."""
    together = [one for one in monitor.intersections if set(one) <= set(features)]
    if not together and len(features) <= MOST_PAIRED:
        together = [(one, other) for place, one in enumerate(features) for other in features[place + 1 :]]
    return [Comparison((one,)) for one in features] + [Comparison(one) for one in together]


def audit_comparisons(features: Sequence[str]) -> list[Comparison]:
    """Each attribute, and of 2 to `MOST_PAIRED` all together, as Local Law 144 asks."""
    together = [Comparison(tuple(features))] if 1 < len(features) <= MOST_PAIRED else []
    return [Comparison((one,)) for one in features] + together


def tabulate(
    people: CountedPeople, comparison: Comparison, assessed: npt.NDArray[np.bool_], selected: npt.NDArray[np.bool_]
) -> CategoryTable:
    """`assessed` and `selected` are per row of `people`."""
    members = [next(one for one in people.attributes if one.feature == feature) for feature in comparison.features]
    sizes = [len(one.labels) for one in members]
    codes = np.asarray(cross([one.codes for one in members], sizes), dtype=np.int64)
    is_known = (codes != MISSING) & assessed
    total = int(np.prod(sizes))
    applicants = np.zeros(total, dtype=np.int64)
    chosen = np.zeros(total, dtype=np.int64)
    # Not bincount with weights, which adds up as floats.
    np.add.at(applicants, codes[is_known], people.records[is_known])
    np.add.at(chosen, codes[is_known & selected], people.records[is_known & selected])
    categories = []
    for place in np.flatnonzero(applicants).tolist():
        parts = np.unravel_index(place, sizes)
        names = tuple(one.labels[int(part)] for one, part in zip(members, parts, strict=True))
        categories.append(Category(names, int(applicants[place]), int(chosen[place])))
    return CategoryTable(comparison, tuple(categories), people.count(assessed & ~is_known))
