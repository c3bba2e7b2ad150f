"""Sheets on selections as data: adverse impact, Local Law 144, lending and controls. Unrounded; every format is made from them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...domain.comparisons import Comparison
from ...domain.monitors import Monitor
from ...impact.adjusted import ControlledCount, adjusted_odds
from ...impact.categories import Category
from ...impact.four_fifths import ImpactRow, compare_categories
from ...impact.local_law_144 import LEAST_SHARE, audit_tables
from ...impact.score_gaps import quantile_ratios, residual_gap, score_gap
from ...impact.sheets import ImpactSheet, as_json
from ...impact.stratified import Stratum, stratified_odds
from ...metrics.groups import FloatArray
from ...records.cells import MISSING, Codes
from ...records.grouping import cross
from .counting import comparisons_in, name_reference, reference_rows, tabulate
from .people import AttributeCategories, PeriodPeople

Json: TypeAlias = dict[str, Any]
Rows: TypeAlias = npt.NDArray[np.bool_]
"""Whether each row of the people is meant."""

NO_REFERENCE = "no record of the period is of the monitor's reference, so there is nothing to compare with"
NO_CONTROLS = "no control was chosen; name columns that decisions may lawfully depend on, such as experience"


def impact_sheet(people: PeriodPeople, monitor: Monitor, features: Sequence[str]) -> Json:
    """Returns the adverse-impact tables; each row also has the ratio to the monitor's reference, for one attribute."""
    tables = [tabulate(people, one, people.is_assessed, people.is_selected) for one in comparisons_in(monitor, features)]
    sheet = as_json(ImpactSheet(tuple(compare_categories(one) for one in tables), _unknown(people)))
    for table, written in zip(tables, sheet["tables"], strict=True):
        written["unknown"] = table.unknown
        reference = _reference_of(people, table.comparison)
        written["reference"] = None if reference is None else reference.label
        for category, row in zip(table.categories, written["rows"], strict=True):
            against = None if reference is None else ImpactRow(category, reference, is_small=False)
            ends = None if against is None else against.interval
            row["ratio_to_reference"] = None if against is None else against.ratio
            row["ratio_to_reference_low"] = None if ends is None else ends.lower
            row["ratio_to_reference_high"] = None if ends is None else ends.upper
    return sheet


def audit_sheet(people: PeriodPeople, monitor: Monitor, features: Sequence[str], *, is_scoring: bool) -> Json:
    """Returns the sheet of Local Law 144, of a tool that selects or that scores.

    A scoring tool selects everybody with a score above the median of the full sample, of unknown categories, too; a tie is not above.
    """
    assessed, selected, median = people.is_assessed, people.is_selected, None
    if is_scoring:
        if people.scores is None:
            return {"tables": [], "unknown": 0, "tool": "scoring", "median_score": None, "reason": people.no_scores}
        assessed = ~np.isnan(people.scores)
        median = float(np.median(np.repeat(people.scores[assessed], people.records[assessed])))
        # NaN is above no number.
        selected = people.scores > median
    tables = [tabulate(people, one, assessed, selected) for one in comparisons_in(monitor, features)]
    is_missing = np.logical_or.reduce([one.codes == MISSING for one in people.attributes])
    audit = audit_tables(tables, unknown=people.count(is_missing & assessed), least_share=LEAST_SHARE)
    written = as_json(audit) | {"tool": "scoring" if is_scoring else "selecting", "median_score": median, "reason": None}
    for one, table in zip(audit.tables, written["tables"], strict=True):
        table["unknown"] = one.table.unknown
        table["most_selected"] = None if one.most_selected is None else one.most_selected.label
    return written


def lending_sheet(people: PeriodPeople) -> Json:
    """Returns, by attribute, each category next to the monitor's reference: the ratio of rates, and gaps in scores."""
    tables = []
    for attribute in people.attributes:
        reference, rows = reference_rows(attribute), []
        name = name_reference(attribute)
        has_reference = people.count(reference & people.is_assessed) > 0
        for place, label in enumerate(attribute.labels):
            if attribute.roles[place] == "reference" or not has_reference:
                continue
            chosen = attribute.codes == place
            row = ImpactRow(_count(people, label, chosen), _count(people, name, reference), is_small=False)
            if not row.category.applicants:
                continue
            rows.append(
                {
                    "category": label,
                    "applicants": row.category.applicants,
                    "selected": row.category.selected,
                    "rate": row.category.rate,
                    "air": row.ratio,
                    "air_low": None if row.interval is None else row.interval.lower,
                    "air_high": None if row.interval is None else row.interval.upper,
                    "score": _score_part(people, attribute, place, reference),
                }
            )
        reason = None if has_reference else NO_REFERENCE
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows, "reason": reason})
    no_scores = people.no_scores if people.scores is None else None
    return {"tables": tables, "no_scores": no_scores, "controls": [one.name for one in people.controls], "sigma": SIGMA}


SIGMA = "sd_all is the standard deviation of the scores of everybody, of unknown categories, too; sd_within that within the two categories"


def controls_sheet(people: PeriodPeople) -> Json:
    """Returns, by attribute, the odds ratios of each category and the monitor's reference given the controls."""
    names = [one.name for one in people.controls]
    notes = [one.note for one in people.controls if one.note]
    if not names:
        return {"controls": [], "notes": [], "tables": [], "reason": NO_CONTROLS}
    tables = []
    for attribute in people.attributes:
        reference, name = reference_rows(attribute), name_reference(attribute)
        rows = [
            _controlled_row(people, attribute, place, reference)
            for place in range(len(attribute.labels))
            if attribute.roles[place] != "reference" and people.count((attribute.codes == place) & people.is_assessed)
        ]
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows if people.count(reference) else []})
    return {"controls": names, "notes": notes, "tables": tables, "reason": None}


def _unknown(people: PeriodPeople) -> int:
    is_missing = np.logical_or.reduce([one.codes == MISSING for one in people.attributes])
    return people.count(is_missing & people.is_assessed)


def _reference_of(people: PeriodPeople, comparison: Comparison) -> Category | None:
    """Returns the people of the monitor's reference; None of combinations, and where there are none."""
    if comparison.is_together:
        return None
    attribute = next(one for one in people.attributes if one.feature == comparison.features[0])
    found = _count(people, name_reference(attribute), reference_rows(attribute))
    return found if found.applicants else None


def _count(people: PeriodPeople, label: str, chosen: Rows) -> Category:
    selected = people.count(chosen & people.is_selected)
    return Category((label,), people.count(chosen & people.is_assessed), selected)


def _score_part(people: PeriodPeople, attribute: AttributeCategories, place: int, reference: Rows) -> Json | None:
    """Returns gaps and ratios by quantile in scores; None without scores."""
    if people.scores is None:
        return None
    scored = ~np.isnan(people.scores)
    mine, others = scored & (attribute.codes == place), scored & reference
    mine_scores, others_scores, all_scores = (_expand(people, rows) for rows in (mine, others, scored))
    label, name = attribute.labels[place], name_reference(attribute)
    gap = score_gap(mine_scores, others_scores, all_scores, name=label, reference_name=name)
    found: Json = {"gap": asdict(gap), "quantiles": [], "residual": None}
    if mine_scores.size and others_scores.size:
        found["quantiles"] = [asdict(one) for one in quantile_ratios(mine_scores, others_scores, all_scores)]
    if people.controls and gap.smd is not None and gap.sd_all is not None:
        strata = _strata(people)
        both = (mine | others) & (strata != MISSING)
        # One entry a record: least squares over rows that count several would weigh them as one.
        times = people.records[both]
        is_category, codes = np.repeat(mine[both], times), np.repeat(strata[both], times)
        found["residual"] = asdict(residual_gap(is_category, np.repeat(people.scores[both], times), codes, gap.sd_all))
    return found


def _expand(people: PeriodPeople, rows: Rows) -> FloatArray:
    """Returns the score of each record of these rows."""
    if people.scores is None:
        return np.zeros(0)
    return np.asarray(np.repeat(people.scores[rows], people.records[rows]), dtype=np.float64)


def _strata(people: PeriodPeople) -> Codes:
    """Returns per row the combination of the values of all controls, or MISSING where one is missing."""
    return np.asarray(cross([one.codes for one in people.controls], [len(one.labels) for one in people.controls]), dtype=np.int64)


def _controlled_row(people: PeriodPeople, attribute: AttributeCategories, place: int, reference: Rows) -> Json:
    mine, strata = attribute.codes == place, _strata(people)
    used = (mine | reference) & people.is_assessed & (strata != MISSING)
    # Only combinations that occur: the product of several controls may be far larger than the log.
    found, each = np.unique(strata[used], return_inverse=True)
    cells = np.zeros((found.size, 4), dtype=np.int64)
    side = np.where(mine[used], 0, 2) + np.where(people.is_selected[used], 0, 1)
    np.add.at(cells, (each, side), people.records[used])
    sizes = [len(one.labels) for one in people.controls]
    values = [
        tuple(one.labels[int(part)] for one, part in zip(people.controls, np.unravel_index(code, sizes), strict=True))
        for code in found.tolist()
    ]
    category = _count(people, attribute.labels[place], mine)
    other = _count(people, name_reference(attribute), reference)
    strata_cells = [Stratum(" × ".join(names), *map(int, row)) for names, row in zip(values, cells, strict=True)]
    counts = [
        count
        for names, row in zip(values, cells.tolist(), strict=True)
        for count in (ControlledCount(names, True, row[0], row[1]), ControlledCount(names, False, row[2], row[3]))
    ]
    crude = ImpactRow(category, other, is_small=False).odds_ratio
    return {
        "category": category.label,
        "people": int(cells.sum()),
        "without_control": people.count((mine | reference) & people.is_assessed & (strata == MISSING)),
        "crude": None if crude is None else asdict(crude),
        "mantel_haenszel": asdict(stratified_odds(category, other, strata_cells)),
        "logit": asdict(adjusted_odds(category, other, counts)),
    }
