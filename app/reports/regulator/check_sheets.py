"""Sheets made of checks, evidence and alerts of a period: their data, and their chapters."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from ...base.values import frozen
from ...charts.series import measure_requested, rename_evidence
from ...domain.check import DataSet, Measurement
from ...evidence.words import list_figures, name_figure
from ...statistics.e_values.state_words import NOT_COVERED
from ..document import (
    ABSENT,
    Block,
    Json,
    Paragraph,
    ReportTable,
    write_count,
    write_points,
    write_points_interval,
    write_share,
    write_share_interval,
    write_time,
)
from ..report_source import ReportSource
from ..sections.second_page import ALERT_COLUMNS, describe_alert, describe_alerts
from .sheet_parts import SheetParts, append_ends, cut_table, write_number_and_ends

FLIP_RATE = "flip_rate"
NO_CHECK = "no check of the period succeeded"
NOT_MEASURED = "the newest check of the period measured none of these figures"

_TABULATED_SCOPES = {"group", "attribute", "overall"}
_EVERYBODY = "everybody"


@frozen
class FigureColumn:
    metric: str
    title: str
    write: Callable[[Json], str]


def _write_share(row: Json) -> str:
    return write_share(row["value"])


def _write_number(row: Json) -> str:
    return write_number_and_ends(row["value"], row["low"], row["high"])


SELECTION_COLUMNS = (
    FigureColumn("selection_rate_before", "Rate before", _write_share),
    FigureColumn("selection_rate_after", "Rate after", _write_share),
    FigureColumn("disparate_impact_before", "Ratio before", _write_number),
    FigureColumn("disparate_impact_after", "Ratio after", _write_number),
    FigureColumn("changed_rate", "Outcomes changed", _write_share),
)
ACCURACY_COLUMNS = (
    FigureColumn("accuracy_before", "Accuracy before", _write_share),
    FigureColumn("accuracy_after", "Accuracy after", _write_share),
    FigureColumn(
        "accuracy_change",
        "Change, in points",
        lambda row: append_ends(write_points(row["value"]), write_points_interval(row["low"], row["high"])),
    ),
)
# A list: the order of a set would give the same report another seal in another process.
ALTERNATIVE_METRICS = [column.metric for column in (*SELECTION_COLUMNS, *ACCURACY_COLUMNS)]


def make_evidence(parts: SheetParts) -> Json:
    evidence = rename_evidence(parts.source.forest.words, parts.source.evidence)
    if evidence is None:
        return {"rows": [], "reason": "the deployment has no evidence over time"}
    rows = [
        {
            "figure": name_figure(figure),
            **asdict(figure.statement),
            "since": None if figure.since is None else figure.since.isoformat(),
        }
        for figure in list_figures(evidence.comparisons)
    ]
    reason = None if rows else "no figure has evidence yet"
    return {"rows": rows, "reason": reason, "guarantee": evidence.guarantee}


def write_evidence(sheet: Json) -> Iterator[Block]:
    rows = [(row["figure"], row["state"], row["sentence"]) for row in sheet["rows"]]
    yield Paragraph("The state of every figure when this report was made, whatever the period.")
    if "guarantee" in sheet:
        yield Paragraph(f"{sheet['guarantee']} {NOT_COVERED}")
    yield cut_table("Since when", ("Figure", "State", "In words"), rows, is_last_wide=True)


def make_alerts(parts: SheetParts) -> Json:
    return {
        "notes": list(describe_alerts(parts.source)),
        "alerts": [asdict(describe_alert(alert)) for alert in parts.source.alerts],
    }


def write_alerts(sheet: Json) -> Iterator[Block]:
    for note in sheet["notes"]:
        yield Paragraph(note)
    if sheet["alerts"]:
        rows = [tuple(alert.values()) for alert in sheet["alerts"]]
        yield cut_table("Alerts of the period", ALERT_COLUMNS, rows)


def make_flips(parts: SheetParts) -> Json:
    return _list_figures(parts.source, parts.source.measurements, {DataSet.COUNTERFACTUAL}, {FLIP_RATE})


def write_flips(sheet: Json) -> Iterator[Block]:
    yield from _introduce(sheet)
    columns = (
        FigureColumn(
            FLIP_RATE,
            "Flips",
            lambda row: append_ends(write_share(row["value"]), write_share_interval(row["low"], row["high"])),
        ),
        FigureColumn(FLIP_RATE, "Gained", lambda row: write_share(row["gained"])),
        FigureColumn(FLIP_RATE, "Lost", lambda row: write_share(row["lost"])),
    )
    note = (
        "The model was asked again about copies in which the attribute is changed. Flips: share of outcomes "
        "that change. Gained: share that becomes favourable; lost: share that stops being favourable. A "
        "group that gains more than it loses is at a disadvantage."
    )
    yield from _tabulate_figures("Flips when the attribute is changed", sheet["rows"], columns, note)


def make_alternative(parts: SheetParts) -> Json:
    """Before and after mitigation, also those that checks measure on request alone."""
    source = parts.source
    measurements = list(source.measurements)
    if source.check is not None:
        measurements += measure_requested(parts.session, source.check, ALTERNATIVE_METRICS)
    return _list_figures(
        source, measurements, {DataSet.MITIGATED, DataSet.MITIGATED_LABELLED}, ALTERNATIVE_METRICS
    )


def write_alternative(sheet: Json) -> Iterator[Block]:
    yield from _introduce(sheet)
    note = (
        "Before: outcomes as they were logged. After: outcomes as the deployment's mitigation gives them for "
        "the same records. Ratio: to the selection rate of the reference."
    )
    yield from _tabulate_figures(
        "Selection before and after mitigation", sheet["rows"], SELECTION_COLUMNS, note
    )
    note = "Accuracy of the outcomes, on records with a ground-truth label."
    yield from _tabulate_figures("Cost or gain in accuracy", sheet["rows"], ACCURACY_COLUMNS, note)


def _list_figures(
    source: ReportSource,
    measurements: Sequence[Measurement],
    data: Collection[DataSet],
    metrics: Collection[str],
) -> Json:
    if source.check is None:
        return {"check": None, "rows": [], "reason": NO_CHECK}
    rows = [
        {
            "metric": measurement.metric,
            "attribute": measurement.attribute,
            "group": None
            if measurement.group is None or measurement.attribute is None
            else source.forest.words.label(measurement.attribute, measurement.group),
            "scope": measurement.scope.value,
            "value": measurement.value,
            "low": measurement.lower,
            "high": measurement.upper,
            "records": measurement.n,
            "reason": measurement.reason,
            **(_divide_flips(measurement) if measurement.metric == FLIP_RATE else {}),
        }
        for measurement in measurements
        if measurement.data in data and measurement.metric in metrics
    ]
    span = f"{source.check.span.start.isoformat()}/{source.check.span.end.isoformat()}"
    return {"check": source.check.id, "span": span, "rows": rows, "reason": None if rows else NOT_MEASURED}


def _divide_flips(measurement: Measurement) -> dict[str, float | None]:
    """Divides the flip rate by direction, less the flips of records that were asked again unchanged."""
    counts = measurement.details.counts
    shares = {}
    total = counts.get("weight", counts.get("n"))
    repeats = counts.get("repeats") or 1
    for name in ("gained", "lost"):
        flips = counts.get(f"{name}_weight", counts.get(name))
        repeated_flips = counts.get(f"repeats_{name}") or 0
        shares[name] = None if flips is None or not total else flips / total - repeated_flips / repeats
    return shares


def _introduce(sheet: Json) -> Iterator[Block]:
    span = " to ".join(write_time(datetime.fromisoformat(end)) for end in sheet["span"].split("/"))
    yield Paragraph(
        f"Figures of check {sheet['check']}, the newest of the period that succeeded, of {span}; they are "
        "of its window alone."
    )
    reasons_of_absence = [row["reason"] for row in sheet["rows"] if row["value"] is None]
    if reasons_of_absence:
        reasons = "; ".join(map(str, dict.fromkeys(reasons_of_absence)))
        yield Paragraph(
            f"{write_count(len(reasons_of_absence))} of {write_count(len(sheet['rows']))} figures have no "
            "value: "
            f"{reasons}."
        )


def _tabulate_figures(
    caption: str, rows: Sequence[Json], columns: Sequence[FigureColumn], note: str
) -> Iterator[ReportTable]:
    """CSV and JSON also have pooled groups."""
    figures_by_subject: dict[tuple[str, str], dict[str, Json]] = {}
    metrics = {column.metric for column in columns}
    for row in rows:
        if row["scope"] in _TABULATED_SCOPES and row["metric"] in metrics and row["value"] is not None:
            subject = (row["attribute"] or ABSENT, row["group"] or _EVERYBODY)
            figures_by_subject.setdefault(subject, {})[row["metric"]] = row
    cells = []
    for subject, figures in figures_by_subject.items():
        texts = (
            column.write(figures[column.metric]) if column.metric in figures else ABSENT for column in columns
        )
        cells.append((*subject, *texts, write_count(min(figure["records"] for figure in figures.values()))))
    if cells:
        titles = ("Attribute", "Group", *(column.title for column in columns), "Records")
        yield cut_table(caption, titles, cells, note)
