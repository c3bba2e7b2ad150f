"""Sheets of a report on a period as unrounded data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...domain.checks import DataSet, Measurement, Span
from ...domain.comparisons import Comparison
from ...domain.group_words import GroupWords
from ...domain.monitors import Monitor
from ...domain.values import label_of
from ...frozen import frozen
from ...impact.bounds import bounds_sheet
from ...impact.categories import Category, CategoryTable
from ...impact.controlled import controls_sheet
from ...impact.four_fifths import ImpactTable
from ...impact.lending import lending_sheet
from ...impact.local_law_144 import LEAST_SHARE, audit_tables, list_without_people
from ...impact.people import CountedPeople, count_category, name_reference, reference_rows
from ...impact.sheets import ImpactSheet, as_json, compare_with_reference
from ...records.cells import MISSING
from ...records.grouping import cross
from ...tracking.wording import name_figure, order_by_gravity, say_limit
from ...views.renaming import rename_evidence
from ..second_page import alert_row, describe_alerts
from ..source import ReportSource
from .attribute_names import order_for_audit
from .presets import PeriodSheet, SheetsWanted, ToolKind

Json: TypeAlias = dict[str, Any]

MOST_PAIRED = 3
"""Max attributes that are paired without combinations in the monitor, and that an audit combines."""

NO_SCORED = "no record of the period has a score"


def impact_sheet(people: CountedPeople, monitor: Monitor, features: Sequence[str]) -> Json:
    """Adverse-impact tables; rows of one attribute have the ratio to the monitor's reference, too."""
    tables = [tabulate(people, one, people.is_assessed, people.is_selected) for one in comparisons_in(monitor, features)]
    sheet = as_json(ImpactSheet(tuple(ImpactTable(one) for one in tables), _unknown(people)))
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


@frozen(kw_only=True)
class SheetParts:
    """`no_counts` says why tables of people cannot be made; `indirect` is None where it is not wanted or cannot be made."""

    people: CountedPeople
    source: ReportSource
    monitor: Monitor
    wanted: SheetsWanted
    features: tuple[str, ...]
    no_counts: str | None
    indirect: Mapping[str, Any] | None


def make_sheet(name: PeriodSheet, parts: SheetParts) -> Mapping[str, Any]:
    return _sheet_of_people(name, parts) if name in OF_PEOPLE else _sheet_of_checks(name, parts.source)


def _sheet_of_people(name: PeriodSheet, parts: SheetParts) -> Mapping[str, Any]:
    if parts.no_counts is not None:
        return {"tables": [], "reason": parts.no_counts}
    people = parts.people
    found: Mapping[str, Any]
    match name:
        case PeriodSheet.ADVERSE_IMPACT:
            found = impact_sheet(people, parts.monitor, parts.features)
        case PeriodSheet.LL144:
            found = _audit_of_period(parts)
        case PeriodSheet.LENDING:
            found = lending_sheet(people)
        case PeriodSheet.PROBABILISTIC:
            found = bounds_sheet(people.bounds)
        case PeriodSheet.CONTROLS:
            found = controls_sheet(people)
        case PeriodSheet.INDIRECT_BIAS if parts.indirect is not None:
            found = parts.indirect
        case _:
            raise ValueError(name)
    return found


def _audit_of_period(parts: SheetParts) -> dict[str, Any]:
    asked, span = order_for_audit(parts.features, is_chosen=bool(parts.wanted.attributes)), parts.source.span
    mapped = {one.attribute for one in parts.wanted.categories if one.values}
    words = GroupWords.of(parts.monitor)
    known = {
        one.feature: [words.label(one.feature, label_of(value)) for value in (*one.monitored, *(one.reference or ()))]
        for one in parts.monitor.attributes
        if one.feature not in mapped
    }
    found = audit_sheet(parts.people, asked, is_scoring=parts.wanted.tool is ToolKind.SCORING, known=known)
    found["not_asked_for"] = [one for one in parts.features if one not in asked]
    found["data"] = AUDITED_DATA.format(start=f"{span.start:%Y-%m-%d %H:%M}", end=f"{span.end:%Y-%m-%d %H:%M}")
    found["caution"] = LONGER_THAN_A_YEAR.format(days=(span.end - span.start).days) if is_longer_than_a_year(span) else None
    return found


def is_longer_than_a_year(span: Span) -> bool:
    """Whether the time ends after the same day and hour of the next year."""
    start = span.start
    # From 29 February to the next 1 March.
    is_leap_day = (start.month, start.day) == (2, 29)
    return span.end > (start.replace(year=start.year + 1, month=3, day=1) if is_leap_day else start.replace(year=start.year + 1))


def _sheet_of_checks(name: PeriodSheet, source: ReportSource) -> dict[str, Any]:
    match name:
        case PeriodSheet.EVIDENCE:
            found = evidence_sheet(source)
        case PeriodSheet.ALERTS:
            found = alerts_sheet(source)
        case PeriodSheet.FLIPS:
            found = _measured_sheet(source, {DataSet.BALANCED}, FLIPS)
        case PeriodSheet.ALTERNATIVE:
            found = _measured_sheet(source, {DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK}, ALTERNATIVES)
        case _:
            raise ValueError(name)
    return found


OF_PEOPLE = frozenset(
    {
        *(PeriodSheet.ADVERSE_IMPACT, PeriodSheet.LL144, PeriodSheet.LENDING, PeriodSheet.PROBABILISTIC, PeriodSheet.CONTROLS),
        PeriodSheet.INDIRECT_BIAS,
    }
)
"""Sheets that count people."""

UNEQUALLY_SAMPLED = (
    "records of the period are of different shares of the traffic, and these tables would count each record once;"
    " choose a period in which one share was logged"
)
AUDITED_DATA = (
    "Data: every decision of the tool that is in the log and lies between {start} and {end} UTC; the log may begin later or end earlier."
    " The rule asks for an audit that is at most one year old when the tool is used, and for the source and the period of its data."
)
LONGER_THAN_A_YEAR = (
    "The period is longer than one year ({days:,} days), so that its oldest decisions are older than an audit under this rule may be."
    " Choose a period of at most one year."
)
FLIPS = frozenset({"flip_rate"})
ALTERNATIVES = frozenset(
    {
        *("selection_rate_before", "selection_rate_after", "disparate_impact_before", "disparate_impact_after"),
        *("accuracy_before", "accuracy_after", "accuracy_change", "changed_rate"),
    }
)
NO_CHECK = "no check of the period succeeded"
NOT_MEASURED = "the newest check of the period measured none of these figures"


def evidence_sheet(source: ReportSource) -> dict[str, Any]:
    known = rename_evidence(source.forest.words, source.evidence)
    if known is None:
        return {"rows": [], "reason": "the deployment has no evidence over time"}
    rows = [
        {
            "comparison": name_figure(one),
            "limit": say_limit(one),
            "state": one.state.value,
            "words": one.words,
            "since": None if one.since is None else one.since.isoformat(),
        }
        for one in order_by_gravity(known.comparisons)
    ]
    return {"rows": rows, "reason": None if rows else "no comparison has evidence yet"}


def _measured_sheet(source: ReportSource, data: set[DataSet], metrics: frozenset[str]) -> dict[str, Any]:
    """Figures of the period's newest succeeded check."""
    if source.check is None:
        return {"check": None, "rows": [], "reason": NO_CHECK}
    words = source.forest.words
    rows = [
        {
            "metric": one.metric,
            "attribute": one.attribute,
            "group": None if one.group is None or one.attribute is None else words.label(one.attribute, one.group),
            "scope": one.scope.value,
            "value": one.value,
            "low": one.lower,
            "high": one.upper,
            "records": one.n,
            "reason": one.reason,
            **_share_parts(one),
        }
        for one in source.measurements
        if one.data in data and one.metric in metrics
    ]
    span = f"{source.check.span.start.isoformat()}/{source.check.span.end.isoformat()}"
    return {"check": source.check.id, "span": span, "rows": rows, "reason": None if rows else NOT_MEASURED}


def _share_parts(one: Measurement) -> dict[str, float | None]:
    """Shares of the flips by direction, less those of unchanged records; empty for another metric."""
    if one.metric not in FLIPS:
        return {}
    counts = one.details.counts
    whole, repeats = counts.get("weight", counts.get("n")), counts.get("repeats") or 1
    parts = {name: (counts.get(f"{name}_weight", counts.get(name)), counts.get(f"repeats_{name}") or 0) for name in ("gained", "lost")}
    return {name: None if part is None or not whole else part / whole - again / repeats for name, (part, again) in parts.items()}


def alerts_sheet(source: ReportSource) -> dict[str, Any]:
    notes = describe_alerts(source.alerts, source.waiting)
    return {"notes": list(notes), "alerts": [asdict(alert_row(alert)) for alert in source.alerts]}
