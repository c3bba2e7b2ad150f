"""Sheets on selections as unrounded data."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...domain.comparisons import Comparison
from ...domain.monitors import Monitor
from ...impact.categories import Category, CategoryTable
from ...impact.four_fifths import compare_categories
from ...impact.local_law_144 import LEAST_SHARE, audit_tables, list_without_people
from ...impact.people import CountedPeople, count_category, name_reference, reference_rows
from ...impact.sheets import ImpactSheet, as_json, compare_with_reference
from ...records.cells import MISSING
from ...records.grouping import cross

Json: TypeAlias = dict[str, Any]

MOST_PAIRED = 3
"""Max attributes that are paired without combinations in the monitor, and that an audit combines."""

NO_SCORED = "no record of the period has a score"


def impact_sheet(people: CountedPeople, monitor: Monitor, features: Sequence[str]) -> Json:
    """Adverse-impact tables; rows of one attribute have the ratio to the monitor's reference, too."""
    tables = [tabulate(people, one, people.is_assessed, people.is_selected) for one in comparisons_in(monitor, features)]
    sheet = as_json(ImpactSheet(tuple(compare_categories(one) for one in tables), _unknown(people)))
    for table, written in zip(tables, sheet["tables"], strict=True):
        reference = _reference_of(people, table.comparison)
        compare_with_reference(written, table, reference)
    return sheet


def audit_sheet(people: CountedPeople, features: Sequence[str], *, is_scoring: bool, known: Mapping[str, Sequence[str]]) -> Json:
    """Sheet of Local Law 144: a table of each attribute, and one of all.

    A table names the `known` categories by attribute also where nobody is of them. A scoring tool selects everybody above the median of the
    full sample, of unknown categories, too; a tie is not above.
    """
    assessed, selected, median = people.is_assessed, people.is_selected, None
    if is_scoring:
        assessed = np.zeros(0, dtype=np.bool_) if people.scores is None else ~np.isnan(people.scores)
        if people.scores is None or not people.count(assessed):
            reason = people.no_scores if people.scores is None else NO_SCORED
            return {"tables": [], "unknown": 0, "assessed": 0, "tool": "scoring", "median_score": None, "reason": reason}
        median = float(np.median(np.repeat(people.scores[assessed], people.records[assessed])))
        # NaN is above no number.
        selected = people.scores > median
    tables = [tabulate(people, one, assessed, selected) for one in audit_comparisons(features)]
    is_missing = np.logical_or.reduce([one.codes == MISSING for one in people.attributes if one.feature in features])
    counts = {"assessed": people.count(assessed), "unknown": people.count(is_missing & assessed)}
    audit = audit_tables(tables, **counts, least_share=LEAST_SHARE)
    written = as_json(audit) | {
        "assessed": audit.assessed,
        "tool": "scoring" if is_scoring else "selecting",
        "median_score": median,
        "reason": None,
    }
    for one, table in zip(audit.tables, written["tables"], strict=True):
        table["unknown"] = one.table.unknown
        table["most_selected"] = None if one.most_selected is None else one.most_selected.label
        table["without_people"] = list_without_people(one.table, known)
    return written


def _unknown(people: CountedPeople) -> int:
    is_missing = np.logical_or.reduce([one.codes == MISSING for one in people.attributes])
    return people.count(is_missing & people.is_assessed)


def _reference_of(people: CountedPeople, comparison: Comparison) -> Category | None:
    """None of combinations, and where there are no such people."""
    if comparison.is_together:
        return None
    attribute = next(one for one in people.attributes if one.feature == comparison.features[0])
    found = count_category(people, name_reference(attribute), reference_rows(attribute))
    return found if found.applicants else None


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
