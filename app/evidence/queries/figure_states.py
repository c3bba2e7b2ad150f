"""States of figures with evidence, their numbers in short, and alarms that people closed."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

import msgspec
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.orm import Session

from ...base.errors import require_present
from ...base.values import frozen, frozen_by_name
from ...checks.advice.deployment_facts import ComparedGroups
from ...database.binary_rows import read_named_rows, read_row, read_rows
from ...database.tables import EvidenceClosureRow, EvidenceEraRow, EvidenceFigureRow
from ...domain.check import DataSet, FigureKey, Scope
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.e_values.state_words import FigureLabel, IntervalKind
from ...statistics.intervals.verdicts import Verdict
from .eras import SELECT_ERA, Era
from .hour_counts import CountedPlace


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """Alarm of a figure at one limit: the most likely first hour, the end of the hour of the alarm, and its
    end.

    `resolved_at` and `fair_since` are set where evidence has ended it, `closed_at` where a person has.
    `earliest`, `latest` (nearly as likely starts) and `log_evidence` are absent where release 0.1 stored it.
    `found_at`: corrections of past hours raised it, when the hours before were known. `is_below`: after
    corrections, the evidence is below the threshold.
    """

    since: datetime
    alarm_at: datetime
    earliest: datetime | None = None
    latest: datetime | None = None
    log_evidence: float | None = None
    found_at: datetime | None = None
    is_below: bool = False
    resolved_at: datetime | None = None
    fair_since: datetime | None = None
    closed_at: datetime | None = None


class StoredStatement(msgspec.Struct, frozen=True, kw_only=True):
    """`gravity` is that of the verdict, 0 first, `beyond` the distance beyond the limits."""

    state: FigureLabel
    gravity: int
    beyond: float
    value: float | None
    lower: float | None
    upper: float | None
    interval_kind: IntervalKind | None
    verdict: Verdict
    n: int
    compared: ComparedGroups
    lower_limit: float | None
    upper_limit: float | None


class LimitSummary(msgspec.Struct, frozen=True, kw_only=True):
    """State of a figure at one limit, with all alarms, oldest first. `since` is None while undecided. The
    first limit of a figure has its `statement`, unless its labels give none.
    """

    direction: str
    state: str
    since: datetime | None = None
    alarms: list[Alarm] = []
    statement: StoredStatement | msgspec.UnsetType = msgspec.UNSET


class LeadingFigure(StoredStatement, frozen=True, kw_only=True):
    metric: str
    data: DataSet
    attribute: str
    group: str

    @property
    def interval(self) -> tuple[float | None, float | None] | None:
        return None if self.interval_kind is None else (self.lower, self.upper)


@frozen_by_name
class EvidenceCounts:
    """Numbers of figures with records, by state, in the present era.

    `unfair_since` is the earliest most likely start; `is_from_first_hour`: no hour of its figure was counted
    before. Hours before `counted_until` are counted. `leading` is the gravest: of those that are not unfair,
    one of disparate impact where there is one.
    """

    unfair: int
    confirmed_fair: int
    undecided: int
    unfair_since: datetime | None
    counted_until: datetime | None
    leading: LeadingFigure | None = None
    is_from_first_hour: bool = False

    @property
    def compared(self) -> int:
        return self.unfair + self.confirmed_fair + self.undecided


_COUNT_FIGURES = """
    SELECT e.deployment_no, e.counted_until,
           count(*) FILTER (WHERE s.is_unfair) AS unfair,
           count(*) FILTER (WHERE s.is_fair AND NOT s.is_unfair) AS confirmed_fair,
           count(*) FILTER (WHERE NOT s.is_fair AND NOT s.is_unfair) AS undecided,
           min(s.since) AS unfair_since,
           coalesce(min(s.since) = min(s.since) FILTER (WHERE s.since = f.first_hour), false)
               AS is_from_first_hour,
           (array_agg(s.statement || jsonb_build_object('metric', f.metric, 'data', f.data,
                   'attribute', f.attribute, 'group', f."group")
               ORDER BY NOT s.is_unfair, f.metric <> 'disparate_impact',
                   CAST(s.statement->>'gravity' AS int), CAST(s.statement->>'beyond' AS float) DESC, f.no)
               FILTER (WHERE s.statement IS NOT NULL))[1] AS leading
    FROM evidence_eras e
    JOIN deployments d ON d.no = e.deployment_no AND d.model_revision = e.model_revision
    JOIN monitors m ON m.deployment_no = e.deployment_no
    LEFT JOIN evidence_figures f ON f.era_no = e.no AND f.ended_at IS NULL
    LEFT JOIN LATERAL (
        SELECT bool_or(l.state = 'unfair') AS is_unfair,
               bool_and(l.state = 'shown_fair')
                   AND coalesce(f.summary->0->'statement'->>'state', 'Confirmed fair') = 'Confirmed fair'
                   AS is_fair,
               min(l.since) FILTER (WHERE l.state = 'unfair') AS since,
               f.summary->0->'statement' AS statement
        FROM jsonb_to_recordset(f.summary) AS l (state text, since timestamptz)
    ) s ON true
    WHERE e.deployment_no = ANY(:nos)
      AND e.no = (
          SELECT max(no) FROM evidence_eras n
          WHERE n.deployment_no = e.deployment_no AND n.model_revision = e.model_revision
      )
    GROUP BY 1, 2
"""


def count_figures(session: Session, deployment_nos: Sequence[int]) -> Mapping[int, EvidenceCounts]:
    """Counts by the number of the deployment; those without an era are absent."""
    rows = session.execute(text(_COUNT_FIGURES), {"nos": list(deployment_nos)})
    return {
        row.deployment_no: read_row(
            EvidenceCounts, row, leading=row.leading and msgspec.convert(row.leading, LeadingFigure)
        )
        for row in rows
    }


Definitions = Mapping[tuple[CountedPlace, str], Mapping[str, Any]]


@frozen_by_name
class KnownFigure:
    """Figure with counts from its first hour to `until`. A stale one is to be computed again.

    `definition` is None if stored before definitions were. Hours before `starts_at` do not count.
    """

    no: int
    id: str
    place: CountedPlace
    group: str
    metric: str
    definition: Mapping[str, Any] | None
    starts_at: datetime | None
    first_hour: datetime
    until: datetime
    is_stale: bool

    @property
    def key(self) -> FigureKey:
        place = self.place
        return FigureKey(metric=self.metric, data=place.data, attribute=place.attribute, group=self.group)

    @property
    def metric_key(self) -> tuple[CountedPlace, str]:
        return self.place, self.metric


@frozen_by_name
class StoredFigure(KnownFigure):
    """A figure and its `state`, empty before the first hour. `closed_by` closed its last closed alarm."""

    state: bytes
    closed_by: str | None = None


@frozen_by_name
class ReachedState:
    no: int
    state: bytes
    summary: Sequence[LimitSummary]
    until: datetime
    is_stale: bool


@frozen_by_name
class EndedFigure:
    """Figure that a later monitor no longer compares; `limits` is the number of its limits."""

    data: DataSet
    first_hour: datetime
    ended_at: datetime
    limits: int


def read_present_figures(session: Session, era_no: int) -> list[KnownFigure]:
    """Figures that are compared, in order, without their states (kilobytes each)."""
    statement = """
        SELECT no, id, data, attribute, "group", metric, definition, starts_at, first_hour, until, is_stale
        FROM evidence_figures WHERE era_no = %(era)s AND ended_at IS NULL ORDER BY no"""
    rows = read_named_rows(session, statement, {"era": era_no})
    return [read_row(KnownFigure, row, place=read_row(CountedPlace, row)) for row in rows]


def read_figure_states(session: Session, era_no: int) -> Mapping[int, bytes]:
    # As text, bytes take two characters each.
    statement = "SELECT no, state FROM evidence_figures WHERE era_no = %(era)s AND ended_at IS NULL"
    return dict(read_rows(session, statement, {"era": era_no}))


def read_summaries_of(session: Session, nos: Collection[int]) -> Mapping[int, list[LimitSummary]]:
    rows = session.execute(
        select(EvidenceFigureRow.no, EvidenceFigureRow.summary).where(EvidenceFigureRow.no.in_(nos))
    )
    return {no: msgspec.convert(summary, list[LimitSummary]) for no, summary in rows}


def read_ended_figures(session: Session, era_no: int) -> list[EndedFigure]:
    statement = """
        SELECT data, first_hour, ended_at, jsonb_array_length(summary) AS limits FROM evidence_figures
        WHERE era_no = %(era)s AND ended_at IS NOT NULL"""
    return [read_row(EndedFigure, row) for row in read_named_rows(session, statement, {"era": era_no})]


def find_ended_ids(session: Session, ids: Collection[str]) -> set[str]:
    return set(
        session.scalars(
            select(EvidenceFigureRow.id).where(
                EvidenceFigureRow.id.in_(ids), EvidenceFigureRow.ended_at.is_not(None)
            )
        )
    )


@frozen
class EraFigures:
    era: Era
    present: Sequence[StoredFigure]
    ended: Sequence[EndedFigure]


def find_era_figures(session: Session, deployment_no: int, model_revision: str) -> EraFigures | None:
    """Newest era of that revision with its figures, in one statement; None without one."""
    statement = f"""SELECT e.*,
                  f.no AS figure_no, f.id, f.data, f.attribute, f."group", f.metric, f.definition,
                  f.starts_at AS figure_starts_at, f.ended_at, f.first_hour, f.until, f.is_stale,
                  CASE WHEN f.ended_at IS NULL THEN f.state END AS state, jsonb_array_length(f.summary) AS limits,
                  (SELECT a.closed_by FROM evidence_closures c JOIN alerts a ON a.no = c.alert_no
                   WHERE (c.era_no, c.data, c.attribute, c."group", c.metric)
                       = (e.no, f.data, f.attribute, f."group", f.metric)
                   ORDER BY c.no DESC LIMIT 1) AS closed_by
           FROM ({SELECT_ERA}) e LEFT JOIN evidence_figures f ON f.era_no = e.no
           ORDER BY f.no"""  # noqa: S608 - of constants only
    rows = read_named_rows(session, statement, {"no": deployment_no, "revision": model_revision})
    if not rows:
        return None
    figures = [row for row in rows if row.figure_no is not None]
    return EraFigures(
        read_row(Era, rows[0]),
        [
            read_row(
                StoredFigure,
                row,
                no=row.figure_no,
                starts_at=row.figure_starts_at,
                place=read_row(CountedPlace, row),
            )
            for row in figures
            if row.ended_at is None
        ],
        [read_row(EndedFigure, row) for row in figures if row.ended_at is not None],
    )


def get_figure(session: Session, deployment_no: int, figure_id: str) -> tuple[int, StoredFigure]:
    statement = select(EvidenceFigureRow).join(EvidenceEraRow, EvidenceEraRow.no == EvidenceFigureRow.era_no)
    row = session.scalars(
        statement.where(EvidenceEraRow.deployment_no == deployment_no, EvidenceFigureRow.id == figure_id)
    ).one_or_none()
    present = require_present(row, "comparison", figure_id)
    return present.era_no, read_row(
        StoredFigure, present, place=read_row(CountedPlace, present), closed_by=None
    )


def add_figures(
    session: Session,
    era_no: int,
    first_hours: Mapping[FigureKey, datetime],
    definitions: Definitions,
    *,
    starts_at: datetime | None,
) -> None:
    """Adds figures with their first hours; hours before `starts_at` do not count."""
    rows = [
        {
            "era_no": era_no,
            **_list_key_values(key),
            "definition": definitions[CountedPlace(key.data, key.attribute or ""), key.metric],
            "starts_at": starts_at,
            "first_hour": first_hour,
            "until": first_hour,
        }
        for key, first_hour in first_hours.items()
    ]
    session.execute(insert(EvidenceFigureRow), rows)


def remove_figure(session: Session, figure: KnownFigure) -> None:
    session.execute(delete(EvidenceFigureRow).where(EvidenceFigureRow.no == figure.no))


def change_figures(session: Session, nos: Collection[int], **values: object) -> None:
    if nos:
        session.execute(update(EvidenceFigureRow).where(EvidenceFigureRow.no.in_(nos)).values(values))


def store_states(session: Session, reached: Sequence[ReachedState]) -> None:
    # One value for all states is three times as fast as rows.
    starts = accumulate((len(figure.state) for figure in reached), initial=1)
    rows = [
        {
            "no": figure.no,
            "start": start,
            "size": len(figure.state),
            "until": figure.until,
            "is_stale": figure.is_stale,
            "summary": figure.summary,
        }
        for figure, start in zip(reached, starts, strict=False)
    ]
    statement = """
        UPDATE evidence_figures f
        SET state = substring(CAST(:states AS bytea) FROM n.start FOR n.size), until = n.until,
            summary = n.summary, is_stale = n.is_stale
        FROM jsonb_to_recordset(CAST(:rows AS jsonb))
            AS n (no bigint, start int, size int, until timestamptz, is_stale boolean, summary jsonb)
        WHERE f.no = n.no"""
    states = b"".join(figure.state for figure in reached)
    session.execute(text(statement), {"states": states, "rows": msgspec.json.encode(rows).decode()})


def _list_key_values(key: FigureKey) -> dict[str, object]:
    return {name: getattr(key, name) for name in ("data", "attribute", "group", "metric")}


@frozen_by_name
class Closure:
    """Alarm that a person closed: the side of the metric's own limit, and the first hour that counts after
    it.
    """

    key: FigureKey
    direction: UnfairSide
    hour: datetime


def read_closures(session: Session, era_no: int) -> list[Closure]:
    statement = """
        SELECT data, attribute, "group", metric, direction, hour FROM evidence_closures
        WHERE era_no = %(era)s ORDER BY no"""
    rows = read_named_rows(session, statement, {"era": era_no})
    return [read_row(Closure, row, key=read_row(FigureKey, row, scope=Scope.GROUP)) for row in rows]


def add_closure(session: Session, era_no: int, closure: Closure, *, alert_no: int) -> None:
    values = {"era_no": era_no, "direction": closure.direction, "hour": closure.hour, "alert_no": alert_no}
    session.execute(insert(EvidenceClosureRow).values(values | _list_key_values(closure.key)))
