"""States of figures."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.frozen import frozen
from ...database.binary_rows import list_column_values, read_row
from ...database.tables import AlertRow, EvidenceClosureRow, EvidenceEraRow, EvidenceFigureRow
from ...domain.check import DataSet
from ...statistics.e_values.nulls import UnfairSide
from .hour_counts import CountedPlace
from .summaries import LimitSummary


@frozen(kw_only=True)
class FigureKey:
    place: CountedPlace
    group: str
    metric: str


Definitions: TypeAlias = Mapping[tuple[CountedPlace, str], Mapping[str, Any]]
"""Definitions of figures, by place and metric."""


@frozen(kw_only=True)
class KnownFigure:
    """A figure, counted from its first hour to `until`. A stale one is to be computed again.

    `definition` is None if stored before definitions were. Hours before `starts_at` do not count.
    """

    no: int
    id: str
    key: FigureKey
    definition: Mapping[str, Any] | None
    starts_at: datetime | None
    first_hour: datetime
    until: datetime
    is_stale: bool

    @property
    def metric_key(self) -> tuple[CountedPlace, str]:
        """`WatchedMetric.key` of its metric."""
        return self.key.place, self.key.metric


@frozen(kw_only=True)
class StoredFigure(KnownFigure):
    """A figure and its `state`, empty before the first hour."""

    state: bytes


@frozen(kw_only=True)
class ReachedState:
    no: int
    state: bytes
    summary: Sequence[LimitSummary]
    until: datetime


@frozen(kw_only=True)
class EndedFigure:
    data: DataSet
    first_hour: datetime
    ended_at: datetime
    limits: int


_COLUMNS = [
    column for column in EvidenceFigureRow.__table__.columns if column.name not in {"state", "summary"}
]


def known_figures(session: Session, era_no: int) -> list[KnownFigure]:
    """Returns the era's present figures in order, without their states (kilobytes each)."""
    present = (EvidenceFigureRow.era_no == era_no, EvidenceFigureRow.ended_at.is_(None))
    rows = session.execute(select(*_COLUMNS).where(*present).order_by(EvidenceFigureRow.no))
    return [read_row(KnownFigure, row, key=read_key(row)) for row in rows]


def read_figure_states(session: Session, nos: Collection[int]) -> Mapping[int, bytes]:
    rows = session.execute(
        select(EvidenceFigureRow.no, EvidenceFigureRow.state).where(EvidenceFigureRow.no.in_(nos))
    )
    return {no: state for no, state in rows}  # noqa: C416 - rows are no pairs to mypy


def read_summaries_of(session: Session, nos: Collection[int]) -> Mapping[int, list[LimitSummary]]:
    """Returns the summaries of figures."""
    rows = session.execute(
        select(EvidenceFigureRow.no, EvidenceFigureRow.summary).where(EvidenceFigureRow.no.in_(nos))
    )
    return {no: msgspec.convert(summary, list[LimitSummary]) for no, summary in rows}


def ended_figures(session: Session, era_no: int) -> list[EndedFigure]:
    """Returns the era's figures of earlier monitors that had counted hours."""
    statement = text(
        """SELECT data, first_hour, ended_at, jsonb_array_length(summary) AS limits FROM evidence_figures
           WHERE era_no = :era AND ended_at IS NOT NULL"""
    )
    return [read_row(EndedFigure, row) for row in session.execute(statement, {"era": era_no})]


def find_ended(session: Session, ids: Collection[str]) -> set[str]:
    return set(
        session.scalars(
            select(EvidenceFigureRow.id).where(
                EvidenceFigureRow.id.in_(ids), EvidenceFigureRow.ended_at.is_not(None)
            )
        )
    )


def read_era_figures(session: Session, era_no: int) -> list[StoredFigure]:
    present = select(EvidenceFigureRow).where(
        EvidenceFigureRow.era_no == era_no, EvidenceFigureRow.ended_at.is_(None)
    )
    rows = session.scalars(present.order_by(EvidenceFigureRow.no))
    return [read_row(StoredFigure, row, key=read_key(row)) for row in rows]


def get_figure(session: Session, deployment_no: int, figure_id: str) -> tuple[int, StoredFigure]:
    """Returns the era and the figure, or raises NotFound."""
    statement = select(EvidenceFigureRow).join(EvidenceEraRow, EvidenceEraRow.no == EvidenceFigureRow.era_no)
    row = session.scalars(
        statement.where(EvidenceEraRow.deployment_no == deployment_no, EvidenceFigureRow.id == figure_id)
    ).one_or_none()
    present = require_present(row, "comparison", figure_id)
    return present.era_no, read_row(StoredFigure, present, key=read_key(present))


def add_figures(
    session: Session,
    era_no: int,
    first_hours: Mapping[FigureKey, datetime],
    definitions: Definitions,
    *,
    starts_at: datetime | None,
) -> None:
    """Stores figures without a state; hours before `starts_at` do not count."""
    rows = [
        {
            "era_no": era_no,
            **_list_key_values(key),
            "definition": definitions[key.place, key.metric],
            "starts_at": starts_at,
            "first_hour": first_hour,
            "until": first_hour,
        }
        for key, first_hour in first_hours.items()
    ]
    if rows:
        session.execute(insert(EvidenceFigureRow), rows)


def remove_figure(session: Session, figure: KnownFigure) -> None:
    session.execute(delete(EvidenceFigureRow).where(EvidenceFigureRow.no == figure.no))


def change_figures(session: Session, nos: Collection[int], **values: object) -> None:
    if nos:
        session.execute(update(EvidenceFigureRow).where(EvidenceFigureRow.no.in_(nos)).values(values))


def store_states(session: Session, reached: Sequence[ReachedState]) -> None:
    # One value for all states is three times as fast as rows; an array takes two characters a byte.
    if reached:
        sizes = [len(reached_state.state) for reached_state in reached]
        session.execute(
            text(
                """UPDATE evidence_figures f
                   SET state = substring(CAST(:states AS bytea) FROM n.start FOR n.size), until = n.until,
                       summary = n.summary, is_stale = false
                   FROM ROWS FROM (
                       unnest(CAST(:nos AS bigint[]), CAST(:starts AS int[]), CAST(:sizes AS int[]),
                           CAST(:untils AS timestamptz[])),
                       jsonb_array_elements(CAST(:summaries AS jsonb))
                   ) AS n (no, start, size, until, summary)
                   WHERE f.no = n.no"""
            ),
            {
                "nos": [reached_state.no for reached_state in reached],
                "states": b"".join(reached_state.state for reached_state in reached),
                "starts": list(accumulate(sizes[:-1], initial=1)),
                "sizes": sizes,
                "untils": [reached_state.until for reached_state in reached],
                "summaries": msgspec.json.encode(
                    [reached_state.summary for reached_state in reached]
                ).decode(),
            },
        )


def replace_state(
    session: Session, figure: StoredFigure, state: bytes, summary: Sequence[LimitSummary]
) -> None:
    """Stores another state and summary after the same hours. A stale figure stays stale."""
    change_figures(session, [figure.no], state=state, summary=summary)


def read_key(row: object) -> FigureKey:
    return read_row(FigureKey, row, place=read_row(CountedPlace, row))


def _list_key_values(key: FigureKey) -> dict[str, object]:
    return {**list_column_values(key.place), "group": key.group, "metric": key.metric}


@frozen(kw_only=True)
class Closure:
    """The figure, the side of the metric's own limit, the first hour that counts after it, and the person."""

    key: FigureKey
    direction: UnfairSide
    hour: datetime
    closed_by: str | None = None


def read_closures(session: Session, era_no: int) -> list[Closure]:
    rows = session.execute(
        select(*EvidenceClosureRow.__table__.columns, AlertRow.closed_by)
        .join(AlertRow, AlertRow.no == EvidenceClosureRow.alert_no)
        .where(EvidenceClosureRow.era_no == era_no)
        .order_by(EvidenceClosureRow.no)
    )
    return [read_row(Closure, row, key=read_key(row)) for row in rows]


def add_closure(session: Session, era_no: int, closure: Closure, *, alert_no: int) -> None:
    named = {"era_no": era_no, "direction": closure.direction, "hour": closure.hour, "alert_no": alert_no}
    session.execute(insert(EvidenceClosureRow).values(named | _list_key_values(closure.key)))
