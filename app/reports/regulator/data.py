"""Data of a regulator's report, read once. HTML, PDF, CSV and JSON are made from them; nothing here is rounded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

import msgspec
from sqlalchemy.orm import Session

from ... import VERSION
from ...domain.category_schemes import CategoryMapping, require_mappings
from ...domain.checks import DataSet, Span
from ...domain.deployments import Deployment, FieldKind
from ...domain.monitors import Monitor
from ...domain.outcomes import outcome_label
from ...errors import Conflict, InvalidInput
from ...impact.local_law_144 import LEAST_SHARE
from ...impact.weighted import weighted_json
from ...store.database.arrow import ArrowReader
from ...store.deployments.monitors import monitor_of
from ...store.records.period_counts import RevisionCount, count_not_stored, count_revisions
from ...tracking.wording import name_figure, order_by_gravity, say_limit
from ..closing import LIMITS as LIMITS_OF_FIGURES
from ..document import Made
from ..second_page import alert_row, describe_alerts
from ..source import ReportSource, read_period
from .chain import digest_json, head_of, make_chain
from .clauses import CLAUSES, NOT_LEGAL_ADVICE
from .people import PeopleWanted, PeriodPeople, choose_attributes, read_people
from .sheets import audit_sheet, controls_sheet, impact_sheet, lending_sheet

KIND = "evenhand-regulator-report"
FORMAT = 2
"""Number of this form of the data; it grows with every change of a member."""

READABLE_FORMATS = (1, FORMAT)
"""Formats whose seal and chain this version computes again."""


LIMITS = (
    "Tables count records. Where a person has several, the person counts several times, and intervals and tests are too sure.",
    "The tests of many categories and tables are not corrected for their number: about one in twenty is significant by chance alone.",
    "A control explains a difference only where decisions may depend on it, and where the attribute does not shape it itself.",
    *LIMITS_OF_FIGURES,
)


class PeriodSheet(StrEnum):
    """Sheets of a report on a period, in the order of its chapters: hazards, measures, evaluation, treatment."""

    ADVERSE_IMPACT = "adverse_impact"
    LL144 = "ll144"
    LENDING = "lending"
    PROBABILISTIC = "probabilistic"
    CONTROLS = "controls"
    EVIDENCE = "evidence"
    ALERTS = "alerts"
    FLIPS = "flips"
    ALTERNATIVE = "alternative"


class ToolKind(StrEnum):
    """Kinds of tools under Local Law 144."""

    SELECTING = "selecting"
    SCORING = "scoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetsWanted:
    """Sheets to make, attributes (none: all of the monitor), controls by column, and whether the tool selects or scores.

    `categories` map the values of attributes to those of a scheme, or name the columns of weights of the probabilistic sheet.
    """

    sheets: tuple[PeriodSheet, ...]
    attributes: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    tool: ToolKind = ToolKind.SELECTING
    preset: str | None = None
    categories: tuple[CategoryMapping, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the content as it is stored; equal contents are equal there."""
        # Through JSON: a stored list would not equal a tuple.
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Returns the content that was stored."""
        return msgspec.convert(stored, cls)


def read_report(session: Session, reader: ArrowReader, deployment: Deployment, span: Span, wanted: SheetsWanted) -> dict[str, Any]:
    """Returns the data of the report, without the time of making.

    Raises:
        Conflict: the deployment has no monitor, which says who is selected and which groups are compared, or its records lie in files.
        InvalidInput: an attribute or a control cannot be used, or the period is too long.
    """
    monitor = require_monitor(session, deployment)
    features = choose_attributes(monitor, wanted.attributes)
    controls = choose_controls(deployment, monitor, wanted)
    with_scores = PeriodSheet.LENDING in wanted.sheets or (PeriodSheet.LL144 in wanted.sheets and wanted.tool is ToolKind.SCORING)
    people = read_people(reader, deployment, monitor, span, PeopleWanted(features, controls, with_scores, wanted.categories))
    source = read_period(session, deployment, span)
    chain = make_chain(session, deployment, span)
    logged = count_revisions(reader, deployment.no, span)
    return {
        "kind": KIND,
        "format": FORMAT,
        "deployment": {"id": deployment.id, "name": deployment.name, "owner": deployment.owner},
        "period": {"start": span.start.isoformat(), "end": span.end.isoformat()},
        "preset": wanted.preset,
        "software": f"Evenhand {VERSION}",
        "monitor": _describe_monitor(monitor),
        "attributes": list(features),
        "categories": [asdict(one) for one in wanted.categories],
        "controls": list(controls),
        "revisions": _add_up_revisions(logged),
        "population": describe_population(session, deployment, span, people, logged),
        "sheets": {
            name.value: make_sheet(name, people, source, monitor, wanted, features) for name in PeriodSheet if name in wanted.sheets
        },
        "limits": list(LIMITS),
        "clauses": [asdict(one) for one in CLAUSES],
        "notice": NOT_LEGAL_ADVICE,
        "chain_head": head_of(chain),
        "chain": [asdict(one) for one in chain],
    }


def require_monitor(session: Session, deployment: Deployment) -> Monitor:
    """Returns the monitor of a deployment that a report can be made of.

    Raises:
        Conflict: it has none, or its records lie in files.
    """
    if deployment.payload is not None:
        raise Conflict(
            f"The records of {deployment.id} lie in files, and this report counts records in Evenhand's database."
            " Export a period of them as CSV, then use `evenhand report --from-csv`."
        )
    monitor = monitor_of(session, deployment.no)
    if monitor is None:
        raise Conflict(f"Deployment {deployment.id} has no fairness monitor, which says which outcomes are favourable. Set one first.")
    return monitor


def choose_controls(deployment: Deployment, monitor: Monitor, wanted: SheetsWanted) -> tuple[str, ...]:
    """Returns the columns that decisions may depend on: those that were chosen, or else the monitor's strata.

    Raises:
        InvalidInput: one is not a column, or is an attribute of the report.
    """
    features = choose_attributes(monitor, wanted.attributes)
    controls = tuple(dict.fromkeys(wanted.controls)) or (() if monitor.strata is None else (monitor.strata,))
    require_columns(deployment, controls)
    require_categories(deployment, features, wanted.categories)
    own = next((name for name in controls if name in features), None)
    if own is not None:
        raise InvalidInput.of("control", f"{own} is an attribute of the report and cannot be its own control")
    return controls


def require_categories(deployment: Deployment, features: Sequence[str], mappings: Sequence[CategoryMapping]) -> None:
    """Refuses mappings that do not fit the deployment.

    Raises:
        InvalidInput: one is of no attribute of the report, or a column of weights is missing or no number.
    """
    require_mappings(mappings)
    for one in mappings:
        place = f"categories.{one.attribute}"
        if one.values and one.attribute not in features:
            raise InvalidInput.of(place, f"is not an attribute of the report, which has {', '.join(features)}")
        for name in one.weights:
            column = deployment.schema.column(name)
            if column is None or column.kind is not FieldKind.NUMERIC:
                raise InvalidInput.of(place, f"{name} is not a column of numbers of the deployment")


def require_columns(deployment: Deployment, controls: Iterable[str]) -> None:
    """Refuses controls that are not columns.

    Raises:
        InvalidInput: one is not a column of the deployment.
    """
    for name in controls:
        if deployment.schema.column(name) is None:
            raise InvalidInput.of("control", f"{name} is not a column of the deployment")


def seal_report(data: dict[str, Any], made: Made) -> dict[str, Any]:
    """Returns the report's JSON: the data, a seal over all of them, and who made it when, which is not under the seal."""
    return data | {"seal": digest_json(data), "made": {"at": made.at.isoformat(), "by": made.by}}


def seal_of(report: Mapping[str, Any]) -> str:
    """Returns the seal that a report's JSON has to have."""
    return digest_json({name: value for name, value in report.items() if name not in {"seal", "made"}})


def _describe_monitor(monitor: Monitor) -> dict[str, Any]:
    return {
        "version": monitor.version,
        "favourable": [outcome_label(value) for value in monitor.outcomes.favourable],
        "unfavourable": [outcome_label(value) for value in monitor.outcomes.unfavourable],
    }


def _add_up_revisions(logged: Sequence[RevisionCount]) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for one in logged:
        counts[one.model_revision] = counts.get(one.model_revision, 0) + one.records
    return [{"model_revision": name, "records": records} for name, records in counts.items()]


def describe_population(
    session: Session, deployment: Deployment, span: Span, people: PeriodPeople, logged: Sequence[RevisionCount]
) -> dict[str, Any]:
    """Returns who is in the report, and who is not and why."""
    other_schema = sum(one.records for one in logged if one.schema_version != deployment.schema.version)
    assessed = people.is_assessed
    not_stored = count_not_stored(session, deployment.no, span)
    missing = []
    for one in people.attributes:
        sizes = [people.count((one.codes == place) & assessed) for place in range(len(one.labels))]
        small = [label for label, size in zip(one.labels, sizes, strict=True) if 0 < size < LEAST_SHARE * sum(sizes)]
        unknown = people.count((one.codes < 0) & assessed)
        missing.append({"attribute": one.feature, "unknown": unknown, "under_2_percent": small})
    return {
        "logged": sum(one.records for one in logged),
        "in_report": people.count(assessed),
        "selected": people.count(people.is_selected),
        "not_in_report": {
            "other_schema_version": other_schema,
            "outcome_in_neither_list": people.count(~assessed),
            "rejected_at_ingestion": not_stored.rejected,
            "not_received": not_stored.not_received,
            "sampled_out": not_stored.sampled_out,
        },
        "by_attribute": missing,
    }


def make_sheet(
    name: PeriodSheet, people: PeriodPeople, source: ReportSource, monitor: Monitor, wanted: SheetsWanted, features: Sequence[str]
) -> dict[str, Any]:
    """Returns one sheet as data."""
    match name:
        case PeriodSheet.ADVERSE_IMPACT:
            found = impact_sheet(people, monitor, features)
        case PeriodSheet.LL144:
            found = audit_sheet(people, monitor, features, is_scoring=wanted.tool is ToolKind.SCORING)
        case PeriodSheet.LENDING:
            found = lending_sheet(people)
        case PeriodSheet.PROBABILISTIC:
            found = weighted_json(people.weighted) | {"reason": None if people.weighted else NO_WEIGHTS}
        case PeriodSheet.CONTROLS:
            found = controls_sheet(people)
        case PeriodSheet.EVIDENCE:
            found = evidence_sheet(source)
        case PeriodSheet.ALERTS:
            notes = describe_alerts(source.alerts, source.waiting)
            found = {"notes": list(notes), "alerts": [asdict(alert_row(alert)) for alert in source.alerts]}
        case PeriodSheet.FLIPS:
            found = _measured_sheet(source, {DataSet.BALANCED}, FLIPS)
        case PeriodSheet.ALTERNATIVE:
            found = _measured_sheet(source, {DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK}, ALTERNATIVES)
    return found


NO_WEIGHTS = "no weights were given; name the columns that hold the probability of each category"
FLIPS = frozenset({"flip_rate", "flip_rate_gained", "flip_rate_lost"})
ALTERNATIVES = frozenset(
    {
        *("selection_rate_before", "selection_rate_after", "disparate_impact_before", "disparate_impact_after"),
        *("accuracy_before", "accuracy_after", "accuracy_change", "changed_rate"),
    }
)
NO_CHECK = "no check of the period succeeded"
NOT_MEASURED = "the newest check of the period measured none of these figures"


def evidence_sheet(source: ReportSource) -> dict[str, Any]:
    """Returns the state of every comparison when the report is made."""
    if source.evidence is None:
        return {"rows": [], "reason": "the deployment has no evidence over time"}
    rows = [
        {
            "comparison": name_figure(one),
            "limit": say_limit(one),
            "state": one.state.value,
            "words": one.words,
            "since": None if one.since is None else one.since.isoformat(),
        }
        for one in order_by_gravity(source.evidence.comparisons)
    ]
    return {"rows": rows, "reason": None if rows else "no comparison has evidence yet"}


def _measured_sheet(source: ReportSource, data: set[DataSet], metrics: frozenset[str]) -> dict[str, Any]:
    """Returns figures of the newest succeeded check of the period."""
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
        }
        for one in source.measurements
        if one.data in data and one.metric in metrics
    ]
    span = f"{source.check.span.start.isoformat()}/{source.check.span.end.isoformat()}"
    return {"check": source.check.id, "span": span, "rows": rows, "reason": None if rows else NOT_MEASURED}
