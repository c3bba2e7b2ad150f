"""Sheets of a report on a period as unrounded data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...domain.checks import DataSet, Measurement, Span
from ...domain.group_words import GroupWords
from ...domain.monitors import Monitor
from ...domain.values import label_of
from ...impact.controlled import controls_sheet
from ...impact.lending import lending_sheet
from ...impact.people import CountedPeople
from ...impact.weighted import weighted_json
from ...tracking.wording import name_figure, order_by_gravity, say_limit
from ...views.renaming import rename_evidence
from ..second_page import alert_row, describe_alerts
from ..source import ReportSource
from .attribute_names import order_for_audit
from .sheets import audit_sheet, impact_sheet
from .wanted import PeriodSheet, SheetsWanted, ToolKind


@dataclass(frozen=True, slots=True, kw_only=True)
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
            found = weighted_json(people.weighted) | {"reason": None if people.weighted else NO_WEIGHTS}
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
NO_WEIGHTS = "no weights were given; name the columns that hold the probability of each category"
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
    """Shares of the flips by direction; empty for another metric."""
    if one.metric not in FLIPS:
        return {}
    counts = one.details.counts
    whole = counts.get("weight", counts.get("n"))
    parts = {name: counts.get(f"{name}_weight", counts.get(name)) for name in ("gained", "lost")}
    return {name: None if part is None or not whole else part / whole for name, part in parts.items()}


def alerts_sheet(source: ReportSource) -> dict[str, Any]:
    notes = describe_alerts(source.alerts, source.waiting)
    return {"notes": list(notes), "alerts": [asdict(alert_row(alert)) for alert in source.alerts]}
