"""Stores and reads the results of finished checks, and finds the checks whose results count.

Also counts what their hours miss, and values that were corrected since a check.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec
from sqlalchemy import ColumnElement, insert, select, text
from sqlalchemy.orm import Session

from ..base.strict_json import JsonObject
from ..base.values import Scalar, frozen, frozen_by_name, normalised
from ..database.binary_rows import driver_connection, read_row
from ..database.tables import CheckRow, CheckTableRow, MeasurementRow
from ..domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, DataSet, Details, Measurement, Scope, Span
from ..domain.monitor import Comparison
from ..domain.record import Prediction
from .days.day_queries import join_day
from .queries import find_run

_COLUMNS_MEMBER = "columns_compared"
"""Member of stored JSON: the columns of a comparison whose label could be divided otherwise."""

_STORED_AS_THEY_ARE = tuple(
    name for name in Measurement.__dataclass_fields__ if name not in {"comparison", "details"}
)

# Checks of longer ranges are not in the hourly series; one hour fills in history. Figures are found by the
# index of series: by check_no every other metric would be read, too.
_RECENT = text("""
    SELECT recent.no, recent.id, recent.at, coalesce(origin.span_end, recent.at) AS measured_at,
        recent.origin_id IS NOT NULL AS carried_forward, recent.monitor_version, recent.unseen,
        recent.is_topped_up, figure.check_no, figure.data, figure.attribute, figure."group", figure.value,
        figure.verdict, figure.definition, figure.carried_forward AS is_figure_carried
    FROM (
        SELECT DISTINCT ON (span_end) no, id, span_end AS at, "window"->>'carried_from' AS origin_id,
            monitor_version,
            jsonb_strip_nulls(jsonb_build_object(
                'correlated_features', "window"->'correlated_features',
                'attributes_unseen_by_model', "window"->'attributes_unseen_by_model'
            )) AS unseen,
            coalesce(("window"->>'additional_records')::numeric, 0) > 0 AS is_topped_up
        FROM checks
        WHERE deployment_no = :deployment_no AND state = 'succeeded'
            AND span_end <= coalesce(:until, 'infinity'::timestamptz)
            AND (trigger <> 'range' OR span_end <= span_start + interval '1 hour')
        ORDER BY span_end DESC, no DESC
        LIMIT :limit
    ) recent
    LEFT JOIN checks origin ON origin.id = recent.origin_id
    LEFT JOIN measurements figure ON figure.deployment_no = :deployment_no AND figure.metric = :metric
        AND figure.at = recent.at AND figure.check_no = recent.no AND figure.scope = 'group'
        AND figure.attribute IS NOT NULL AND figure."group" IS NOT NULL
    ORDER BY recent.at, figure.no
""")

# Values of which a check read another one: predictions of the window's records, and labels that became usable
# in the span or top it up, which are the newest before it.
_NOT_STORED = text("""
    WITH checked AS (
        SELECT deployment_no, started_at, span_start, span_end,
            ("window"->>'oldest_record_at')::timestamptz AS oldest,
            ("window"->>'newest_record_at')::timestamptz AS newest,
            ("window"->>'additional_labelled_records')::int AS additional
        FROM checks
        WHERE no = :check_no
    ),
    corrected AS (
        SELECT what, count(*)
        FROM checked
        JOIN corrections USING (deployment_no)
        WHERE made_at >= started_at
            AND (previous_at IS NULL OR previous_at < started_at)
            AND (
                what = 'prediction' AND logged_at BETWEEN oldest AND newest
                OR usable_at < span_end AND usable_at >= coalesce((
                    SELECT label.usable_at
                    FROM feedback_records label
                    WHERE label.deployment_no = checked.deployment_no AND label.usable_at < span_start
                        AND additional > 0
                    ORDER BY label.usable_at DESC
                    OFFSET greatest(additional - 1, 0)
                    LIMIT 1
                ), span_start)
            )
        GROUP BY what
    )
    SELECT
        (
            SELECT coalesce(sum(records), 0)
            FROM rejection_counts
            WHERE deployment_no = :no AND kind = 'payload' AND hour >= :start AND hour < :end
        )::bigint AS rejected,
        (
            SELECT coalesce(sum(records), 0)
            FROM erased_hours
            WHERE deployment_no = :no AND hour >= :start AND hour < :end
        )::bigint AS erased,
        coalesce(sum(not_received), 0)::bigint AS not_received,
        coalesce(sum(left_out), 0)::bigint AS sampled_out,
        min(sample_rate) FILTER (WHERE left_out > 0) AS lowest_rate,
        max(sample_rate) FILTER (WHERE left_out > 0) AS highest_rate,
        (SELECT coalesce(jsonb_agg(corrected ORDER BY what), '[]') FROM corrected) AS corrected
    FROM missing_records
    WHERE deployment_no = :no AND hour >= :start AND hour < :end
""")


@frozen
class StoredTable:
    """Count table of a comparison in one `part` of the window: the span, or additional records."""

    data: DataSet
    comparison: Comparison
    part: str
    cells: JsonObject

    @property
    def attribute(self) -> str:
        return self.comparison.label


@frozen_by_name
class RecentCheck:
    """A check with figures. `measured_at` is the end of the measured span.

    `unseen` holds members of its window: attributes that the model does not see. `is_topped_up`: the check
    has records of earlier hours.
    """

    no: int
    id: str
    at: datetime
    measured_at: datetime
    carried_forward: bool
    monitor_version: int | None
    unseen: JsonObject
    is_topped_up: bool = False


@frozen_by_name
class RecentFigure:
    check_no: int
    data: DataSet
    attribute: str
    group: str
    value: float | None
    verdict: str | None
    carried_forward: bool
    definition: int


@frozen
class RecentFigures:
    checks: Sequence[RecentCheck]
    figures: Sequence[RecentFigure]


class Corrected(StrEnum):
    """The value of a record that is corrected."""

    LABEL = "label"
    PREDICTION = "prediction"


@frozen_by_name
class Correction:
    id: str | None
    record_id: str
    what: Corrected
    old: Scalar | None
    new: Scalar | None
    reason: str


@frozen
class CorrectedCount:
    """How many values of a kind were corrected."""

    what: str
    count: int


@frozen_by_name
class MissingRecords:
    """Numbers of records that some hours miss, and of values corrected since a check.

    The rates are those of sampling, None if it left out nothing.
    """

    rejected: int
    not_received: int
    sampled_out: int
    erased: int
    lowest_rate: float | None
    highest_rate: float | None
    corrected: tuple[CorrectedCount, ...]


def store_tables(session: Session, check_no: int, tables: Sequence[StoredTable]) -> None:
    rows = [
        {
            "check_no": check_no,
            "data": table.data,
            "attribute": table.comparison.label,
            "part": table.part,
            "cells": table.cells | name_columns(table.comparison),
        }
        for table in tables
    ]
    if rows:
        session.execute(insert(CheckTableRow), rows)


def store_measurements(
    session: Session, check_no: int, deployment_no: int, measurements: Sequence[Measurement]
) -> None:
    rows = [
        {
            "check_no": check_no,
            "deployment_no": deployment_no,
            **{name: getattr(measurement, name) for name in _STORED_AS_THEY_ARE},
            "attribute": measurement.attribute,
            "details": measurement.details.to_json() | name_columns(measurement.comparison),
        }
        for measurement in measurements
    ]
    if rows:
        session.execute(insert(MeasurementRow), rows)
    for at in {measurement.at for measurement in measurements}:
        join_day(session, deployment_no, at)


def store_label_predictions(
    session: Session, deployment_no: int, predictions: dict[str, Prediction], model_revision: str
) -> None:
    with driver_connection(session).cursor() as cursor:
        # Sent in one pipeline; there may be thousands.
        cursor.executemany(
            "UPDATE feedback_records SET predicted = %s, predicted_label = %s, predicted_probability = %s, "
            "predicted_revision = %s WHERE deployment_no = %s AND feedback_id = %s",
            [
                (
                    _encode_json(normalised(scored.prediction)),
                    _encode_json(None if scored.label is None else normalised(scored.label)),
                    _encode_json(scored.probability),
                    model_revision,
                    deployment_no,
                    feedback_id,
                )
                for feedback_id, scored in predictions.items()
            ],
        )


def _encode_json(value: object) -> str | None:
    # SQL's NULL, not JSON's null.
    return None if value is None else msgspec.json.encode(value).decode()


def read_stored_tables(
    session: Session, check_no: int, *, data: Collection[DataSet] = tuple(DataSet)
) -> list[StoredTable]:
    rows = session.scalars(
        select(CheckTableRow)
        .where(CheckTableRow.check_no == check_no, CheckTableRow.data.in_(data))
        .order_by(CheckTableRow.data, CheckTableRow.attribute, CheckTableRow.part)
    )
    return [
        StoredTable(
            DataSet(row.data), read_comparison(row.attribute, row.cells), row.part, omit_columns(row.cells)
        )
        for row in rows
    ]


def read_measurements(
    session: Session, check_no: int, *, metrics: Collection[str] | None = None
) -> list[Measurement]:
    """Reads the measurements of a check in the order in which they were stored; `metrics` None: all."""
    conditions = [] if metrics is None else [MeasurementRow.metric.in_(metrics)]
    return _read_measurements(session, MeasurementRow.check_no == check_no, *conditions)


def read_headline_measurements(session: Session, check_no: int) -> list[Measurement]:
    """Reads each comparison's group furthest out, logged and counterfactual."""
    return _read_measurements(
        session,
        MeasurementRow.check_no == check_no,
        is_of_scope(Scope.WORST),
        MeasurementRow.data.in_((DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL)),
    )


def _read_measurements(session: Session, *conditions: ColumnElement[bool]) -> list[Measurement]:
    rows = session.scalars(select(MeasurementRow).where(*conditions).order_by(MeasurementRow.no))
    return [build_measurement(row) for row in rows]


def is_of_scope(scope: Scope) -> ColumnElement[bool]:
    return MeasurementRow.worst_of.is_not(None) if scope is Scope.WORST else MeasurementRow.scope == scope


def build_measurement(row: MeasurementRow) -> Measurement:
    details = Details.from_json(omit_columns(row.details))
    return read_row(Measurement, row, details=details, comparison=read_comparison(row.attribute, row.details))


def name_columns(comparison: Comparison) -> JsonObject:
    """Names the columns of a comparison; empty if its label does."""
    is_clear = Comparison.from_label(comparison.label) == comparison
    return {} if is_clear else {_COLUMNS_MEMBER: list(comparison.features)}


def read_comparison(label: str | None, members: JsonObject) -> Comparison:
    columns = members.get(_COLUMNS_MEMBER)
    return Comparison.from_label(label or "") if columns is None else Comparison(tuple(columns))


def omit_columns(members: JsonObject) -> JsonObject:
    return {name: member for name, member in members.items() if name != _COLUMNS_MEMBER}


def read_window_members(session: Session, check_ids: Collection[str], member: str) -> JsonObject:
    """Reads one member of the checks' windows, by id of the check; an absent one is empty."""
    rows = session.execute(select(CheckRow.id, CheckRow.window[member]).where(CheckRow.id.in_(check_ids)))
    return {check_id: content or {} for check_id, content in rows}


def find_newest_success(session: Session, deployment_no: int, moment: datetime) -> CheckRun | None:
    """Finds the last success up to `moment` with the model's answers and no requested range."""
    return find_run(
        session,
        CheckRow.deployment_no == deployment_no,
        CheckRow.state == CheckState.SUCCEEDED,
        CheckRow.failure.is_(None),
        CheckRow.trigger.in_(PRESENT_TRIGGERS),
        CheckRow.span_end <= moment,
    )


def find_origin(session: Session, check: CheckRun) -> CheckRun | None:
    """Finds the check that measured the figures, maybe the check itself; None if it was deleted."""
    return check if check.carried_from is None else find_run(session, CheckRow.id == check.carried_from)


def read_recent_figures(
    session: Session, deployment_no: int, metric: str, *, limit: int, until: datetime | None = None
) -> RecentFigures:
    """Reads the newest checks up to `until`, one for each end, and their figures of groups, oldest first."""
    rows = session.execute(
        _RECENT, {"deployment_no": deployment_no, "metric": metric, "limit": limit, "until": until}
    ).all()
    oldest_first = {row.no: row for row in rows}.values()
    return RecentFigures(
        [read_row(RecentCheck, row) for row in reversed(oldest_first)],
        [
            read_row(RecentFigure, row, carried_forward=row.is_figure_carried)
            for row in rows
            if row.check_no is not None
        ],
    )


def count_not_stored(
    session: Session, deployment_no: int, span: Span, *, check_no: int | None = None
) -> MissingRecords:
    """Counts payload records of the span that are not stored, and values corrected since that check."""
    values = {"no": deployment_no, "start": span.start, "end": span.end, "check_no": check_no}
    return read_row(MissingRecords, session.execute(_NOT_STORED, values).one())


def describe_corrected(counts: Sequence[CorrectedCount], since: str) -> str:
    """Says `2 labels, 1 prediction were corrected since 2 Mar 2026`."""
    phrases = [
        f"{corrected.count:,} {corrected.what}{'' if corrected.count == 1 else 's'}" for corrected in counts
    ]
    total = sum(corrected.count for corrected in counts)
    return f"{', '.join(phrases)} {'was' if total == 1 else 'were'} corrected since {since}."
