"""Sheets of a report on a period as unrounded data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from ...base.frozen import frozen_by_name
from ...base.values import name_value
from ...charts.named_groups import rename_evidence
from ...domain.check import DataSet, Measurement, Span
from ...domain.groups import GroupWords
from ...domain.monitor import Comparison, Monitor
from ...evidence.words import name_figure, order_by_gravity, say_limit
from ...statistics.group_labels import MISSING, cross
from ...statistics.selections.category_people import (
    CountedPeople,
    count_category,
    name_reference,
    reference_rows,
)
from ...statistics.selections.controls_sheet import controls_sheet
from ...statistics.selections.four_fifths import ImpactTable
from ...statistics.selections.lending_sheet import lending_sheet
from ...statistics.selections.local_law_144 import LEAST_SHARE, audit_tables, list_without_people
from ...statistics.selections.probability_bounds import bounds_sheet
from ...statistics.selections.selection_categories import Category, CategoryTable
from ...statistics.selections.selection_json import ImpactSheet, as_json, compare_with_reference
from ..document import Json
from ..report_source import ReportSource
from ..sections.second_page import alert_row, describe_alerts
from .attribute_names import order_for_audit
from .presets import PeriodSheet, SheetsWanted, ToolKind

MOST_PAIRED = 3
"""Max attributes that are paired without combinations in the monitor, and that an audit combines."""

NO_SCORED = "no record of the period has a score"


def impact_sheet(people: CountedPeople, monitor: Monitor, features: Sequence[str]) -> Json:
    """Adverse-impact tables; rows of one attribute have the ratio to the monitor's reference, too."""
    tables = [
        tabulate(people, comparison, people.is_assessed, people.is_selected)
        for comparison in comparisons_in(monitor, features)
    ]
    unknown = _count_unknown(people, features, people.is_assessed)
    sheet = as_json(ImpactSheet(tuple(map(ImpactTable, tables)), unknown))
    for table, written in zip(tables, sheet["tables"], strict=True):
        compare_with_reference(written, table, _count_reference(people, table.comparison))
    return sheet


def audit_sheet(
    people: CountedPeople, features: Sequence[str], *, is_scoring: bool, listed: Mapping[str, Sequence[str]]
) -> Json:
    """Sheet of Local Law 144: a table of each attribute, and one of all.

    A table names the `listed` categories by attribute also where nobody is of them. A scoring tool selects
    everybody above the median of the full sample, of unknown categories, too; a tie is not above.
    """
    assessed, selected, median = people.is_assessed, people.is_selected, None
    if is_scoring:
        assessed = np.zeros(0, dtype=np.bool_) if people.scores is None else ~np.isnan(people.scores)
        if people.scores is None or not people.count(assessed):
            reason = people.no_scores if people.scores is None else NO_SCORED
            return {
                "tables": [],
                "unknown": 0,
                "assessed": 0,
                "tool": "scoring",
                "median_score": None,
                "reason": reason,
            }
        median = float(np.median(np.repeat(people.scores[assessed], people.records[assessed])))
        # NaN is above no number.
        selected = people.scores > median
    tables = [tabulate(people, comparison, assessed, selected) for comparison in audit_comparisons(features)]
    unknown = _count_unknown(people, features, assessed)
    audit = audit_tables(tables, assessed=people.count(assessed), unknown=unknown, least_share=LEAST_SHARE)
    written = as_json(audit) | {
        "assessed": audit.assessed,
        "tool": "scoring" if is_scoring else "selecting",
        "median_score": median,
        "reason": None,
    }
    for audited, table in zip(audit.tables, written["tables"], strict=True):
        table["unknown"] = audited.table.unknown
        table["most_selected"] = audited.most_selected and audited.most_selected.label
        table["without_people"] = list_without_people(audited.table, listed)
    return written


def _count_unknown(people: CountedPeople, features: Sequence[str], assessed: npt.NDArray[np.bool_]) -> int:
    is_missing = np.logical_or.reduce(
        [attribute.codes == MISSING for attribute in people.attributes if attribute.feature in features]
    )
    return people.count(is_missing & assessed)


def _count_reference(people: CountedPeople, comparison: Comparison) -> Category | None:
    """None of combinations, and where there are no such people."""
    if comparison.is_together:
        return None
    attribute = next(
        attribute for attribute in people.attributes if attribute.feature == comparison.features[0]
    )
    reference = count_category(people, name_reference(attribute), reference_rows(attribute))
    return reference if reference.applicants else None


def comparisons_in(monitor: Monitor, features: Sequence[str]) -> list[Comparison]:
    """Each attribute and the monitor's combinations, or else each pair of up to `MOST_PAIRED` attributes."""
    together = [intersection for intersection in monitor.intersections if set(intersection) <= set(features)]
    if not together and len(features) <= MOST_PAIRED:
        together = [
            (first, second) for position, first in enumerate(features) for second in features[position + 1 :]
        ]
    return [Comparison((feature,)) for feature in features] + [Comparison(joined) for joined in together]


def audit_comparisons(features: Sequence[str]) -> list[Comparison]:
    """Each attribute, and of 2 to `MOST_PAIRED` all together, as Local Law 144 asks."""
    together = [Comparison(tuple(features))] if 1 < len(features) <= MOST_PAIRED else []
    return [Comparison((feature,)) for feature in features] + together


def tabulate(
    people: CountedPeople,
    comparison: Comparison,
    assessed: npt.NDArray[np.bool_],
    selected: npt.NDArray[np.bool_],
) -> CategoryTable:
    """`assessed` and `selected` are per row of `people`."""
    members = [
        next(attribute for attribute in people.attributes if attribute.feature == feature)
        for feature in comparison.features
    ]
    sizes = [len(member.labels) for member in members]
    codes = np.asarray(cross([member.codes for member in members], sizes), dtype=np.int64)
    is_known = (codes != MISSING) & assessed
    total = int(np.prod(sizes))
    applicants = np.zeros(total, dtype=np.int64)
    chosen = np.zeros(total, dtype=np.int64)
    # Not bincount with weights, which adds up as floats.
    np.add.at(applicants, codes[is_known], people.records[is_known])
    np.add.at(chosen, codes[is_known & selected], people.records[is_known & selected])
    categories = []
    for position in np.flatnonzero(applicants).tolist():
        codes_of_members = np.unravel_index(position, sizes)
        names = tuple(
            member.labels[int(code)] for member, code in zip(members, codes_of_members, strict=True)
        )
        categories.append(Category(names, int(applicants[position]), int(chosen[position])))
    return CategoryTable(comparison, tuple(categories), people.count(assessed & ~is_known))


@frozen_by_name
class SheetParts:
    """`no_counts` says why tables of people cannot be made.

    `indirect` is empty where it is not wanted or cannot be made.
    """

    people: CountedPeople
    source: ReportSource
    monitor: Monitor
    wanted: SheetsWanted
    features: tuple[str, ...]
    no_counts: str | None
    indirect: Json


def make_sheet(name: PeriodSheet, sheet_parts: SheetParts) -> Json:
    people, source = sheet_parts.people, sheet_parts.source
    match name:
        case PeriodSheet.EVIDENCE:
            return evidence_sheet(source)
        case PeriodSheet.ALERTS:
            notes = list(describe_alerts(source.alerts, source.waiting))
            return {"notes": notes, "alerts": [asdict(alert_row(alert)) for alert in source.alerts]}
        case PeriodSheet.FLIPS:
            return _measured_sheet(source, {DataSet.COUNTERFACTUAL}, FLIPS)
        case PeriodSheet.ALTERNATIVE:
            return _measured_sheet(source, {DataSet.MITIGATED, DataSet.MITIGATED_LABELLED}, ALTERNATIVES)
        case _ if sheet_parts.no_counts is not None:
            return {"tables": [], "reason": sheet_parts.no_counts}
        case PeriodSheet.ADVERSE_IMPACT:
            return impact_sheet(people, sheet_parts.monitor, sheet_parts.features)
        case PeriodSheet.LL144:
            return _audit_of_period(sheet_parts)
        case PeriodSheet.LENDING:
            return lending_sheet(people)
        case PeriodSheet.PROBABILISTIC:
            return bounds_sheet(people.bounds)
        case PeriodSheet.CONTROLS:
            return controls_sheet(people)
        case PeriodSheet.INDIRECT_BIAS:
            return sheet_parts.indirect


def _audit_of_period(sheet_parts: SheetParts) -> Json:
    required, span = (
        order_for_audit(sheet_parts.features, is_chosen=bool(sheet_parts.wanted.attributes)),
        sheet_parts.source.span,
    )
    mapped = {category.attribute for category in sheet_parts.wanted.categories if category.values}
    names = GroupWords.of(sheet_parts.monitor)
    listed = {
        attribute.feature: [
            names.label(attribute.feature, name_value(value))
            for value in (*attribute.monitored, *(attribute.reference or ()))
        ]
        for attribute in sheet_parts.monitor.attributes
        if attribute.feature not in mapped
    }
    sheet = audit_sheet(
        sheet_parts.people, required, is_scoring=sheet_parts.wanted.tool is ToolKind.SCORING, listed=listed
    )
    return {
        **sheet,
        "not_asked_for": [feature for feature in sheet_parts.features if feature not in required],
        "data": AUDITED_DATA.format(start=f"{span.start:%Y-%m-%d %H:%M}", end=f"{span.end:%Y-%m-%d %H:%M}"),
        "caution": LONGER_THAN_A_YEAR.format(days=(span.end - span.start).days)
        if is_longer_than_a_year(span)
        else None,
    }


def is_longer_than_a_year(span: Span) -> bool:
    """Whether the time ends after the same day and hour of the next year."""
    start = span.start
    # From 29 February to the next 1 March.
    is_leap_day = (start.month, start.day) == (2, 29)
    return span.end > (
        start.replace(year=start.year + 1, month=3, day=1)
        if is_leap_day
        else start.replace(year=start.year + 1)
    )


UNEQUALLY_SAMPLED = (
    "records of the period are of different shares of the traffic, and these tables would count each record "
    "once;"
    " choose a period in which one share was logged"
)
AUDITED_DATA = (
    "Data: every decision of the tool that is in the log and lies between {start} and {end} UTC; the log "
    "may begin later or end earlier."
    " The rule asks for an audit that is at most one year old when the tool is used, and for the source and "
    "the period of its data."
)
LONGER_THAN_A_YEAR = (
    "The period is longer than one year ({days:,} days), so that its oldest decisions are older than an "
    "audit under this rule may be."
    " Choose a period of at most one year."
)
FLIPS = frozenset({"flip_rate"})
ALTERNATIVES = frozenset(
    {
        *(
            "selection_rate_before",
            "selection_rate_after",
            "disparate_impact_before",
            "disparate_impact_after",
        ),
        *("accuracy_before", "accuracy_after", "accuracy_change", "changed_rate"),
    }
)
NO_CHECK = "no check of the period succeeded"
NOT_MEASURED = "the newest check of the period measured none of these figures"


def evidence_sheet(source: ReportSource) -> Json:
    evidence = rename_evidence(source.forest.words, source.evidence)
    if evidence is None:
        return {"rows": [], "reason": "the deployment has no evidence over time"}
    rows = [
        {
            "comparison": name_figure(state),
            "limit": say_limit(state),
            "state": state.state.value,
            "words": state.words,
            "since": state.since and state.since.isoformat(),
        }
        for state in order_by_gravity(evidence.comparisons)
    ]
    return {"rows": rows, "reason": None if rows else "no comparison has evidence yet"}


def _measured_sheet(source: ReportSource, data: set[DataSet], metrics: frozenset[str]) -> Json:
    """Figures of the period's newest succeeded check."""
    if source.check is None:
        return {"check": None, "rows": [], "reason": NO_CHECK}
    names = source.forest.words
    rows = [
        {
            "metric": measurement.metric,
            "attribute": measurement.attribute,
            "group": None
            if measurement.group is None or measurement.attribute is None
            else names.label(measurement.attribute, measurement.group),
            "scope": measurement.scope.value,
            "value": measurement.value,
            "low": measurement.lower,
            "high": measurement.upper,
            "records": measurement.n,
            "reason": measurement.reason,
            **_share_parts(measurement),
        }
        for measurement in source.measurements
        if measurement.data in data and measurement.metric in metrics
    ]
    span = f"{source.check.span.start.isoformat()}/{source.check.span.end.isoformat()}"
    return {"check": source.check.id, "span": span, "rows": rows, "reason": None if rows else NOT_MEASURED}


def _share_parts(measurement: Measurement) -> dict[str, float | None]:
    """Shares of the flips by direction, less those of unchanged records; empty for another metric."""
    if measurement.metric not in FLIPS:
        return {}
    counts = measurement.details.counts
    total, repeats = counts.get("weight", counts.get("n")), counts.get("repeats") or 1
    directions = {
        name: (counts.get(f"{name}_weight", counts.get(name)), counts.get(f"repeats_{name}") or 0)
        for name in ("gained", "lost")
    }
    return {
        name: None if count is None or not total else count / total - again / repeats
        for name, (count, again) in directions.items()
    }
