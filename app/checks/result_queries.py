"""Results of a finished check, written once; counts of what was corrected, and of what never was a record."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, insert, select, text
from sqlalchemy.orm import Session

from ..base.values import Scalar, frozen, frozen_by_name, normalised
from ..database.binary_rows import driver_connection, read_row
from ..database.tables import CheckRow, CheckTableRow, MeasurementRow
from ..domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, DataSet, Details, Measurement, Scope, Span
from ..domain.monitor import Comparison
from ..domain.record import Prediction
from .days.day_queries import DAY, DRAWN_SCOPES, IS_NOT_SUPERSEDED, ORIGIN, STEP_COLUMNS, SUPERSEDED_CHECKS
from .queries import find_run


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


def describe_corrected(counts: Sequence[CorrectedCount], since: str) -> str:
    phrases = [
        f"{corrected.count:,} {corrected.what}{'' if corrected.count == 1 else 's'}" for corrected in counts
    ]
    total = sum(corrected.count for corrected in counts)
    return f"{', '.join(phrases)} {'was' if total == 1 else 'were'} corrected since {since}."


_DELETE_DAY = "DELETE FROM figure_days WHERE deployment_no = %(deployment_no)s AND day = %(first)s"

# By check numbers: no index has the time without a metric.
_JOIN_DAY = f"""
    WITH superseded AS MATERIALIZED ({SUPERSEDED_CHECKS})
    INSERT INTO figure_days (deployment_no, metric, data, attribute, scope, "group", definition, day, last_at,
        figures, carried, unfair, suspected, unwatched, undecided, fair, insufficient, absent, lowest,
        highest, lower, upper, n, lower_limit, upper_limit, reason)
    SELECT m.deployment_no, metric, data, attribute, scope, "group", definition, %(first)s, {STEP_COLUMNS}
    FROM checks of_day
    JOIN measurements m ON m.check_no = of_day.no, superseded
    WHERE of_day.deployment_no = %(deployment_no)s
        AND of_day.span_end > %(first)s AND of_day.span_end <= %(last)s
        AND scope = ANY(%(scopes)s) AND {IS_NOT_SUPERSEDED}
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""  # noqa: S608 - of constants only


def join_day(session: Session, deployment_no: int, at: datetime) -> None:
    """Joins again the figures of checks that end on the day (UTC) of `at`; needed wherever measurements
    change.
    """
    first = ORIGIN + (at - timedelta.resolution - ORIGIN) // DAY * DAY
    values = {
        "deployment_no": deployment_no,
        "first": first,
        "last": first + DAY,
        "scopes": [scope.value for scope in DRAWN_SCOPES],
    }
    connection = driver_connection(session)
    # SQLAlchemy has sent the rows at once.
    connection.execute(_DELETE_DAY, values)
    connection.execute(_JOIN_DAY, values)


_COLUMNS_MEMBER = "columns_compared"

_STORED_AS_THEY_ARE = tuple(
    name for name in Measurement.__dataclass_fields__ if name not in {"comparison", "details"}
)


@frozen
class StoredTable:
    data: DataSet
    comparison: Comparison
    part: str
    cells: dict[str, Any]

    @property
    def attribute(self) -> str:
        return self.comparison.label


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
    of_metrics = [] if metrics is None else [MeasurementRow.metric.in_(metrics)]
    return _read_measurements(session, MeasurementRow.check_no == check_no, *of_metrics)


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


def read_comparison(label: str | None, members: Mapping[str, Any]) -> Comparison:
    columns = members.get(_COLUMNS_MEMBER)
    return Comparison.from_label(label or "") if columns is None else Comparison(tuple(columns))


def omit_columns(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in members.items() if name != _COLUMNS_MEMBER}


def read_window_members(session: Session, check_ids: Collection[str], member: str) -> dict[str, Any]:
    rows = session.execute(select(CheckRow.id, CheckRow.window[member]).where(CheckRow.id.in_(check_ids)))
    return {check_id: window or {} for check_id, window in rows}


def find_newest_success(session: Session, deployment_no: int, moment: datetime) -> CheckRun | None:
    """The last success up to `moment` with the model's answers and no requested range."""
    return find_run(
        session,
        CheckRow.deployment_no == deployment_no,
        CheckRow.state == CheckState.SUCCEEDED,
        CheckRow.failure.is_(None),
        CheckRow.trigger.in_(PRESENT_TRIGGERS),
        CheckRow.span_end <= moment,
    )


def find_origin(session: Session, check: CheckRun) -> CheckRun | None:
    """The check that measured the figures, maybe the check itself; None if it was deleted."""
    return check if check.carried_from is None else find_run(session, CheckRow.id == check.carried_from)


def name_columns(comparison: Comparison) -> dict[str, Any]:
    return (
        {}
        if Comparison.from_label(comparison.label) == comparison
        else {_COLUMNS_MEMBER: list(comparison.features)}
    )


def _encode_json(value: object) -> str | None:
    # SQL's NULL, not JSON's null.
    return None if value is None else msgspec.json.encode(value).decode()


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
    unseen: Mapping[str, Any]
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


# Checks of longer ranges are not in the hourly series; one hour fills in history. Figures are found by the
# index of series: by check_no every other metric would be read, too.
_RECENT = text("""
    SELECT n.no, n.id, n.at, coalesce(o.span_end, n.at) AS measured_at, n.origin IS NOT NULL AS carried_forward,
           n.monitor_version, n.unseen, n.is_topped_up, m.check_no, m.data, m.attribute, m."group", m.value,
           m.verdict, m.definition, m.carried_forward AS is_figure_carried
    FROM (
        SELECT DISTINCT ON (c.span_end) c.no, c.id, c.span_end AS at, c."window"->>'carried_from' AS origin,
            c.monitor_version,
               jsonb_strip_nulls(jsonb_build_object(
                   'correlated_features', c."window"->'correlated_features',
                   'attributes_unseen_by_model', c."window"->'attributes_unseen_by_model')) AS unseen,
               coalesce((c."window"->>'additional_records')::numeric, 0) > 0 AS is_topped_up
        FROM checks c
        WHERE c.deployment_no = :deployment_no AND c.state = 'succeeded' AND c.span_end <= coalesce(:until,
            'infinity'::timestamptz)
          AND (c.trigger <> 'range' OR c.span_end <= c.span_start + interval '1 hour')
        ORDER BY c.span_end DESC, c.no DESC LIMIT :most
    ) n
    LEFT JOIN checks o ON o.id = n.origin
    LEFT JOIN measurements m ON m.deployment_no = :deployment_no AND m.metric = :metric AND m.at = n.at
        AND m.check_no = n.no AND m.scope = 'group' AND m.attribute IS NOT NULL AND m."group" IS NOT NULL
    ORDER BY n.at, m.no
""")


def read_recent_figures(
    session: Session, deployment_no: int, metric: str, *, most: int, until: datetime | None = None
) -> RecentFigures:
    """Returns at most `most` newest checks with figures, one for each end, up to `until`, and their figures
    of the metric.
    """
    rows = session.execute(
        _RECENT, {"deployment_no": deployment_no, "metric": metric, "most": most, "until": until}
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


@frozen_by_name
class MissingRecords:
    rejected: int
    not_received: int
    sampled_out: int
    erased: int
    lowest_rate: float | None
    highest_rate: float | None
    corrected: tuple[CorrectedCount, ...]


# Corrections of predictions of the window's records, and of labels that became usable in the span or top it
# up: these are the newest before it.
_NOT_STORED = text("""
    SELECT (SELECT coalesce(sum(records), 0) FROM rejection_counts WHERE deployment_no = :no
                AND kind = 'payload' AND hour >= :start AND hour < :end)::bigint AS rejected,
           (SELECT coalesce(sum(records), 0) FROM erased_hours WHERE deployment_no = :no
                AND hour >= :start AND hour < :end)::bigint AS erased,
           coalesce(sum(not_received), 0)::bigint AS not_received,
           coalesce(sum(left_out), 0)::bigint AS sampled_out,
           min(sample_rate) FILTER (WHERE left_out > 0) AS lowest_rate,
           max(sample_rate) FILTER (WHERE left_out > 0) AS highest_rate,
           (SELECT coalesce(jsonb_agg(n ORDER BY what), '[]') FROM (
                SELECT what, count(*)
                FROM (SELECT *, (window_->>'oldest_record_at')::timestamptz AS oldest,
                             (window_->>'newest_record_at')::timestamptz AS newest,
                             (window_->>'additional_labelled_records')::int AS additional
                      FROM (SELECT deployment_no, started_at, span_start, span_end, "window" AS window_
                            FROM checks WHERE no = :check_no)) c
                JOIN corrections USING (deployment_no)
                WHERE made_at >= started_at AND (previous_at IS NULL OR previous_at < started_at)
                    AND (what = 'prediction' AND logged_at BETWEEN oldest AND newest
                         OR usable_at < span_end AND usable_at >= coalesce((
                             SELECT f.usable_at FROM feedback_records f
                             WHERE f.deployment_no = c.deployment_no AND f.usable_at < span_start
                                 AND additional > 0
                             ORDER BY f.usable_at DESC OFFSET greatest(additional - 1, 0) LIMIT 1), span_start))
                GROUP BY what) n) AS corrected
    FROM missing_records WHERE deployment_no = :no AND hour >= :start AND hour < :end
""")


def count_not_stored(
    session: Session, deployment_no: int, span: Span, *, check_no: int | None = None
) -> MissingRecords:
    """Counts them, and what was corrected since the check of that number, if there is one."""
    values = {"no": deployment_no, "start": span.start, "end": span.end, "check_no": check_no}
    return read_row(MissingRecords, session.execute(_NOT_STORED, values).one())
