"""What a finished check leaves: its tables and measurements. Written in one piece by the check, read by everybody."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import msgspec
import psycopg
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.domain.checks import CheckState, DataSet, Measurement, Scope, Span, Trigger
from app.domain.records import Prediction
from app.domain.values import normalised
from app.store.tables import CheckRow, CheckTableRow, MeasurementRow


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One count table of a check. `part` is `span` or `additional`; `cells` is the table's JSON form."""

    data: DataSet
    attribute: str
    part: str
    cells: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EarlierCheck:
    """A succeeded check before another, as far as carrying forward needs to know it."""

    no: int
    id: str
    span: Span
    monitor_version: int | None
    model_revision: str | None
    window: dict[str, Any]


def store_tables(session: Session, check_no: int, tables: Sequence[StoredTable]) -> None:
    """Writes a check's count tables."""
    rows = [{"check_no": check_no, "data": t.data, "attribute": t.attribute, "part": t.part, "cells": t.cells} for t in tables]
    if rows:
        session.execute(insert(CheckTableRow), rows)


def store_measurements(session: Session, check_no: int, deployment_no: int, measurements: Sequence[Measurement]) -> None:
    """Writes a check's measurements."""
    fields = Measurement.__dataclass_fields__
    rows = [{"check_no": check_no, "deployment_no": deployment_no, **{name: getattr(m, name) for name in fields}} for m in measurements]
    if rows:
        session.execute(insert(MeasurementRow), rows)


def store_label_predictions(session: Session, deployment_no: int, predictions: dict[str, Prediction], model_revision: str) -> None:
    """Writes what the model said of labelled records that had no prediction of their own."""
    connection = cast("psycopg.Connection", session.connection().connection.driver_connection)
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE feedback_records SET predicted = %s, predicted_label = %s, predicted_probability = %s, predicted_revision = %s"
            " WHERE deployment_no = %s AND feedback_id = %s",
            [
                (
                    *(_json(normalised(p.prediction)), _json(None if p.label is None else normalised(p.label)), _json(p.probability)),
                    *(model_revision, deployment_no, feedback_id),
                )
                for feedback_id, p in predictions.items()
            ],
        )


def tables_of(session: Session, check_no: int, *, data: Collection[DataSet] = tuple(DataSet)) -> list[StoredTable]:
    """A check's count tables of those data sets, by data, attribute and part."""
    rows = session.scalars(
        select(CheckTableRow)
        .where(CheckTableRow.check_no == check_no, CheckTableRow.data.in_(data))
        .order_by(CheckTableRow.data, CheckTableRow.attribute, CheckTableRow.part)
    )
    return [StoredTable(DataSet(row.data), row.attribute, row.part, row.cells) for row in rows]


def data_sets_of(session: Session, check_no: int) -> set[DataSet]:
    """The data sets of which the check has count tables."""
    found = session.scalars(select(CheckTableRow.data).where(CheckTableRow.check_no == check_no).distinct())
    return {DataSet(data) for data in found}


def measurements_of(session: Session, check_no: int, *, metrics: Collection[str] | None = None) -> list[Measurement]:
    """A check's measurements, in the order in which they were measured; with `metrics`, those of these keys only."""
    wanted = select(MeasurementRow).where(MeasurementRow.check_no == check_no)
    if metrics is not None:
        wanted = wanted.where(MeasurementRow.metric.in_(metrics))
    return [measurement_from(row) for row in session.scalars(wanted.order_by(MeasurementRow.no))]


def measurement_from(row: MeasurementRow) -> Measurement:
    """The stored measurement."""
    fields = {name: getattr(row, name) for name in Measurement.__dataclass_fields__}
    return Measurement(**{**fields, "data": DataSet(row.data), "scope": Scope(row.scope)})


def newest_success_before(session: Session, deployment_no: int, moment: datetime) -> EarlierCheck | None:
    """The succeeded check of the schedule, or "now", whose span ends last, at or before `moment`.

    Checks of ranges that somebody asked for are no part of the hourly series.
    """
    row = session.scalars(
        select(CheckRow)
        .where(
            CheckRow.deployment_no == deployment_no,
            CheckRow.state == CheckState.SUCCEEDED,
            CheckRow.trigger != Trigger.RANGE,
            CheckRow.span_end <= moment,
        )
        .order_by(CheckRow.span_end.desc(), CheckRow.no.desc())
        .limit(1)
    ).first()
    return None if row is None else _earlier(row)


def origin_of(session: Session, check: EarlierCheck) -> EarlierCheck | None:
    """Returns the check that measured what this one says: itself, or the one whose figures it carries (None: that is gone)."""
    origin = check.window.get("carried_from")
    if origin is None:
        return check
    row = session.scalars(select(CheckRow).where(CheckRow.id == origin)).one_or_none()
    return None if row is None else _earlier(row)


def _earlier(row: CheckRow) -> EarlierCheck:
    span = Span(start=row.span_start, end=row.span_end)
    return EarlierCheck(row.no, row.id, span, row.monitor_version, row.model_revision, row.window or {})


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
