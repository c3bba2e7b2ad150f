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
"""Max attributes of which every pair has a table where the monitor names no combinations, and that are combined for an audit."""


def comparisons_in(monitor: Monitor, features: Sequence[str]) -> list[Comparison]:
    """Returns each attribute, and the combinations: those that the monitor watches, or else each pair of up to three attributes."""
    together = [one for one in monitor.intersections if set(one) <= set(features)]
    if not together and len(features) <= MOST_PAIRED:
        together = [(one, other) for place, one in enumerate(features) for other in features[place + 1 :]]
    return [Comparison((one,)) for one in features] + [Comparison(one) for one in together]


def audit_comparisons(features: Sequence[str]) -> list[Comparison]:
    """Returns each attribute, and of several all of them together, as Local Law 144 asks for sex, race and sex × race.

    More than `MOST_PAIRED` have no combination, whose categories would be too small.
    """
    together = [Comparison(tuple(features))] if 1 < len(features) <= MOST_PAIRED else []
    return [Comparison((one,)) for one in features] + together


def tabulate(
    people: CountedPeople, comparison: Comparison, assessed: npt.NDArray[np.bool_], selected: npt.NDArray[np.bool_]
) -> CategoryTable:
    """Returns the categories of a comparison that have people; `assessed` and `selected` are per row of `people`."""
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
