"""Stores and reads the results of finished checks, and finds the checks whose results count."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement, insert, select
from sqlalchemy.orm import Session

from ..base.strict_json import JsonObject
from ..base.values import frozen, normalised
from ..database.binary_rows import driver_connection, read_row
from ..database.tables import CheckRow, CheckTableRow, MeasurementRow
from ..domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, DataSet, Details, Measurement, Scope
from ..domain.monitor import Comparison
from ..domain.record import Prediction
from .days.figure_steps import join_day
from .queries import find_run

_COLUMNS_MEMBER = "columns_compared"
"""Member of stored JSON: the columns of a comparison whose label could be divided otherwise."""

_STORED_AS_THEY_ARE = tuple(
    name for name in Measurement.__dataclass_fields__ if name not in {"comparison", "details"}
)


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
    """Stores the measurements, and joins the days of their steps again."""
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
