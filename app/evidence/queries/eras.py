"""Eras: evidence with one model revision; hours to which something was added after their end.

Record numbers cannot find these: processes reserve them in blocks. So each transaction that may add to a past
hour notes it. An hour is counted only when no live write can be open.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import delete, insert, text, update
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.values import frozen_by_name
from ...checks.result_queries import CorrectedCount
from ...checks.schedule.missed_hours import MISSED
from ...database.binary_rows import read_named_rows, read_row, read_rows
from ...database.tables import ChangedHourRow, EvidenceEraRow
from ...deployments.queries import read_tables
from ...domain.check import Span
from ...domain.deployment import Deployment, FeedbackTable, PayloadTable, ProblemType, RecordSchema
from ...statistics.e_values.follow import SomeGroupAlarm
from ...statistics.group_labels import FloatArray, IntArray

_LOCK = 0x65766964
"""First key of the advisory locks on the evidence of a deployment."""


@frozen_by_name
class MissedHours:
    """Hours whose copies a model revision has not scored, the first at `since`."""

    revision: str
    since: datetime
    hours: int


@frozen_by_name
class Era:
    """Evidence of a deployment with one model revision.

    `late_labels` arrived after their horizon, and do not count. Left-out records are known from
    `left_out_from` on. `divisors` and `persons` are pairs of an hour and what holds from it on: the divisor
    of ln E, and the column that says whose record it is. `alarms` say that some group is unfair. One of
    number 0 has not begun; of one that `is_restarted`, another one was counted before. One that `is_daily`
    has records in files whose times are dates: a block of evidence is a day, its first hour.
    """

    no: int = 0
    monitor_version: int = 0
    model_revision: str
    starts_at: datetime | None = None
    counted_until: datetime | None = None
    labels_until: datetime | None = None
    late_labels: int = 0
    problem: str | None = None
    left_out_from: datetime | None = None
    figures_due: bool = True
    divisors: Sequence[tuple[int, int]] = ((0, 1),)
    persons: Sequence[tuple[int, str | None]] = ((0, None),)
    alarms: Sequence[SomeGroupAlarm] = ()
    is_restarted: bool = False
    is_daily: bool = False
    missed: Sequence[MissedHours] = ()

    @property
    def waits(self) -> MissedHours | None:
        """Figures of pairs wait for them, so that all hours enter in their order."""
        return next((missed for missed in self.missed if missed.revision == self.model_revision), None)

    @property
    def open_alarm(self) -> SomeGroupAlarm | None:
        return self.alarms[-1] if self.alarms and self.alarms[-1].ended is None else None

    def divisors_at(self, hours: IntArray) -> FloatArray:
        if len(self.divisors) == 1:
            return np.full(len(hours), float(self.divisors[0][1]))
        starts, divisors = np.array(self.divisors, np.int64).T
        at = np.searchsorted(starts, hours, side="right") - 1
        return np.asarray(divisors[np.maximum(at, 0)], np.float64)

    def split_by_person(self, span: Span) -> Iterator[tuple[Span, int]]:
        """Yields the parts of a span that are counted with one column of persons, with its number."""
        starts = [datetime.fromtimestamp(hour * HOUR.total_seconds(), UTC) for hour, _ in self.persons]
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], span.end], strict=True)):
            part = Span(start=max(start, span.start), end=min(end, span.end))
            if part.start < part.end:
                yield part, number


@frozen_by_name
class FollowedDeployment:
    """Facts for counting. `schemas` are all versions, the present one last; tables are None without files."""

    no: int
    id: str
    problem_type: ProblemType
    schemas: Sequence[RecordSchema]
    model_revision: str
    has_endpoint: bool
    payload: PayloadTable | None = None
    feedback: FeedbackTable | None = None

    @classmethod
    def of(cls, deployment: Deployment) -> "FollowedDeployment":
        has_endpoint = deployment.endpoint is not None
        return read_row(cls, deployment, schemas=[deployment.schema], has_endpoint=has_endpoint)

    @property
    def schema(self) -> RecordSchema:
        return self.schemas[-1]


def try_lock_evidence(session: Session, deployment_no: int) -> bool:
    """False at once if another process has the lock. It lasts until the transaction ends."""
    statement = "SELECT pg_try_advisory_xact_lock(%(lock)s, %(no)s)"
    ((is_locked,),) = read_rows(session, statement, {"lock": _LOCK, "no": deployment_no})
    return bool(is_locked)


def lock_evidence(session: Session, deployment_no: int) -> None:
    """Waits while another process has the lock, which lasts until the transaction ends."""
    session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no})


def find_deployments_to_follow(session: Session, *, latest: datetime, in_files: bool = False) -> list[int]:
    """Returns the deployments with a monitor that have changed hours, uncounted hours before `latest`, or
    figures due.

    `in_files`: those in files, else the others.
    """
    # A killed process may have counted every hour, but not brought every figure there.
    statement = text(
        """SELECT m.deployment_no FROM monitors m JOIN deployments d ON d.no = m.deployment_no
           LEFT JOIN evidence_eras e ON (e.deployment_no, e.monitor_version, e.model_revision) = (d.no,
               m.version, d.model_revision)
           WHERE (d.record_tables IS NOT NULL) = :in_files
             AND (e.no IS NULL OR e.figures_due OR e.counted_until IS NULL
                 OR e.counted_until NOT BETWEEN :latest AND now()
                  OR EXISTS (SELECT FROM changed_hours c WHERE c.deployment_no = d.no AND (c.era_no IS NULL
                      OR c.era_no = e.no)))"""
    )
    return list(session.scalars(statement, {"in_files": in_files, "latest": latest}))


def forget_unfollowed_changes(session: Session) -> None:
    """Deletes the notes of deployments without a monitor: one made later counts all hours."""
    session.execute(
        text(
            "DELETE FROM changed_hours c WHERE NOT EXISTS (SELECT FROM monitors m WHERE m.deployment_no = "
            "c.deployment_no)"
        )
    )


def read_followed_deployment(session: Session, deployment_no: int) -> FollowedDeployment:
    statement = """
        SELECT d.no, d.id, d.problem_type, d.model_revision, d.endpoint, d.record_tables, s.version,
            s.features, s.meta
        FROM deployments d JOIN deployment_schemas s ON s.deployment_no = d.no WHERE d.no = %(no)s
        ORDER BY s.version"""
    rows = read_named_rows(session, statement, {"no": deployment_no})
    tables = read_tables(rows[0].record_tables)
    return read_row(
        FollowedDeployment,
        rows[0],
        schemas=[read_row(RecordSchema, row) for row in rows],
        has_endpoint=rows[0].endpoint is not None,
        payload=tables.payload,
        feedback=tables.feedback,
    )


_IS_OF_ERA = "f.deployment_no = e.deployment_no AND f.side = 'payload' AND f.oldest IS NOT NULL"

SELECT_ERA = f"""
    SELECT e.*,
           (SELECT coalesce(sum(labels), 0)::int FROM evidence_late_labels l WHERE l.era_no = e.no)
               AS late_labels,
           EXISTS (SELECT FROM evidence_eras b WHERE b.deployment_no = e.deployment_no AND b.no < e.no
               AND b.counted_until IS NOT NULL) AS is_restarted,
           (SELECT coalesce(jsonb_agg(m), '[]') FROM (
               SELECT c.model_revision AS revision, min(c.span_start) AS since,
                      count(DISTINCT c.span_start) AS hours
               FROM checks c
               WHERE c.deployment_no = e.deployment_no
                   AND c.span_start >= coalesce(e.starts_at, '-infinity') AND {MISSED}
               GROUP BY 1 ORDER BY 2) m) AS missed,
           EXISTS (SELECT FROM listed_files f WHERE {_IS_OF_ERA}) AND NOT EXISTS (
               SELECT FROM listed_files f WHERE {_IS_OF_ERA}
                 AND (f.oldest <> date_trunc('day', f.oldest, 'UTC')
                     OR f.newest <> date_trunc('day', f.newest, 'UTC'))) AS is_daily
    FROM evidence_eras e WHERE e.deployment_no = %(no)s AND e.model_revision = %(revision)s
    ORDER BY e.no DESC LIMIT 1
"""  # noqa: S608 - nothing of it comes from outside
"""The newest era of a revision, as `Era`."""


def find_era(session: Session, deployment_no: int, model_revision: str) -> Era | None:
    """Newest era of the revision, if any; the present monitor may compare other figures."""
    rows = read_named_rows(session, SELECT_ERA, {"no": deployment_no, "revision": model_revision})
    return read_row(Era, rows[0]) if rows else None


def begin_era(
    session: Session,
    deployment_no: int,
    monitor_version: int,
    model_revision: str,
    *,
    starts_at: datetime | None,
    said: tuple[int, str | None] = (1, None),
) -> Era:
    """Begins an era; `said` are the divisor of ln E and the column of persons."""
    era: dict[str, Any] = {
        "monitor_version": monitor_version,
        "model_revision": model_revision,
        "starts_at": starts_at,
        "divisors": [(0, said[0])],
        "persons": [(0, said[1])],
    }
    insertion = insert(EvidenceEraRow).values(deployment_no=deployment_no, alerts_due=True, **era)
    return Era(no=session.scalars(insertion.returning(EvidenceEraRow.no)).one(), **era)


def note_progress(session: Session, era_no: int, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    session.execute(update(EvidenceEraRow).where(EvidenceEraRow.no == era_no).values(values))


def find_eras_with_alerts_due(session: Session) -> list[int]:
    return list(session.scalars(text("SELECT DISTINCT deployment_no FROM evidence_eras WHERE alerts_due")))


def take_alerts_due(session: Session, deployment_no: int) -> None:
    session.execute(
        text("UPDATE evidence_eras SET alerts_due = false WHERE deployment_no = :no AND alerts_due"),
        {"no": deployment_no},
    )


def find_current_hour_bound(session: Session, grace_seconds: float) -> datetime:
    """End of the last hour that ended at least `grace_seconds` ago, by the database's clock."""
    statement = text("SELECT date_trunc('hour', now() - make_interval(secs => :grace), 'UTC')")
    bound: datetime = session.execute(statement, {"grace": grace_seconds}).scalar_one()
    return bound


_OF_ERA = """
    deployment_no = :no AND state = 'succeeded' AND model_revision = :revision
    AND span_end = span_start + interval '1 hour' AND span_start = date_trunc('hour', span_start, 'UTC')
"""


@frozen_by_name
class CounterfactualTable:
    hour: datetime
    attribute: str
    check_no: int
    cells: dict[str, Any]


def read_counterfactual_tables(
    session: Session, deployment_no: int, era: Era, span: Span
) -> Sequence[CounterfactualTable]:
    # An earlier version of the monitor compared the same, or the hour does not count.
    statement = text(
        f"""SELECT c.hour, t.attribute, t.check_no, t.cells
            FROM (SELECT DISTINCT ON (span_start) span_start AS hour, no FROM checks
                  WHERE {_OF_ERA} AND failure IS NULL AND monitor_version <= :version AND span_start >= :start
                      AND span_start < :end
                  ORDER BY span_start, no DESC) c
            JOIN check_tables t ON t.check_no = c.no
            WHERE t.data = 'counterfactual' AND t.part = 'span'"""  # noqa: S608 - nothing of it comes from outside
    )
    of_era = {"no": deployment_no, "revision": era.model_revision, "version": era.monitor_version}
    return [
        read_row(CounterfactualTable, row)
        for row in session.execute(statement, of_era | {"start": span.start, "end": span.end})
    ]


def find_checked_hours(session: Session, deployment_no: int, era: Era) -> Sequence[datetime]:
    statement = text(f"SELECT DISTINCT span_start FROM checks WHERE {_OF_ERA} AND monitor_version = :version")  # noqa: S608 - as above
    of_era = {"no": deployment_no, "revision": era.model_revision, "version": era.monitor_version}
    return session.scalars(statement, of_era).all()


MAX_NOTES = 10_000


def read_changed_hours(session: Session, deployment_no: int, era: Era) -> list[tuple[int, datetime]]:
    """The first MAX_NOTES notes for the present era, a number and an hour each, by hour. Drops those of
    erased records: they cannot be counted again, so the counts stay.
    """
    statement = """
        WITH erased AS (
            DELETE FROM changed_hours c USING erased_hours e
            WHERE c.deployment_no = %(no)s AND e.deployment_no = c.deployment_no AND e.hour = c.hour
                AND c.hour < %(counted_until)s::timestamptz AND (c.era_no IS NULL OR c.era_no = %(era)s)
            RETURNING c.no)
        SELECT no, hour FROM changed_hours
        WHERE deployment_no = %(no)s AND (era_no IS NULL OR era_no = %(era)s)
            AND no NOT IN (SELECT no FROM erased)
        ORDER BY hour, no LIMIT %(most)s"""
    values = {"no": deployment_no, "era": era.no, "counted_until": era.counted_until, "most": MAX_NOTES}
    return read_rows(session, statement, values)


def count_corrections(
    session: Session, deployment_no: int, era: Era, since: Collection[datetime]
) -> Mapping[datetime, list[CorrectedCount]]:
    """Values of counted hours, corrected since each of these times."""
    statement = text(
        """SELECT s.since, c.what, count(*) FROM unnest(CAST(:since AS timestamptz[])) AS s (since)
           JOIN corrections c ON c.made_at >= s.since AND (c.previous_at IS NULL OR c.previous_at < s.since)
           WHERE c.deployment_no = :no AND c.logged_at < :until
           GROUP BY 1, 2 ORDER BY 1, 2"""
    )
    values = {"no": deployment_no, "since": list(since), "until": era.counted_until}
    counts: dict[datetime, list[CorrectedCount]] = {}
    for start, what, count in session.execute(statement, values):
        counts.setdefault(start, []).append(CorrectedCount(what, count))
    return counts


def forget_changes(session: Session, nos: Sequence[int], era: Era) -> None:
    """Deletes the notes for this era; other model revisions keep theirs."""
    # Earlier eras of a revision are never used again.
    session.execute(
        text(
            """INSERT INTO changed_hours (deployment_no, hour, era_no)
               SELECT DISTINCT c.deployment_no, c.hour, e.no FROM changed_hours c JOIN evidence_eras e
                   USING (deployment_no)
               WHERE c.no = ANY(:nos) AND c.era_no IS NULL AND e.no <> :era AND c.hour <= e.counted_until
                 AND e.no = (SELECT max(n.no) FROM evidence_eras n
                             WHERE n.deployment_no = e.deployment_no AND n.model_revision = e.model_revision)
                 AND NOT EXISTS (SELECT FROM changed_hours k
                                 WHERE k.deployment_no = c.deployment_no AND k.hour = c.hour
                                     AND k.era_no = e.no)"""
        ),
        {"nos": list(nos), "era": era.no},
    )
    session.execute(delete(ChangedHourRow).where(ChangedHourRow.no.in_(nos)))
