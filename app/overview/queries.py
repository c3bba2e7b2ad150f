"""The overview of all deployments, in a fixed number of statements. Structs are made twice as fast as
dataclasses.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from sqlalchemy.orm import Session

from ..base.values import frozen
from ..checks.advice.deployment_facts import (
    Compared,
    EndedCheck,
    GroupFigure,
    OverviewEntry,
    Success,
    Unacknowledged,
)
from ..checks.schedule.worker_queries import SILENT_AFTER, WorkersSeen
from ..database.binary_rows import array_text, read_named_rows, read_row, read_rows
from ..domain.check import CheckState, DataSet, Failure, WindowCounts
from ..domain.monitor import DisplayNames

LAST_HOUR = timedelta(hours=1)


# Checks of longer ranges are no part of the hourly series; one hour fills in history.
OF_SERIES = (
    "(c.trigger <> 'range' OR c.span_end <= c.span_start + interval '1 hour') AND c.span_start <= now()"
)


def _select_counts(side: str, window: str) -> str:
    """Numbers take less time to read than JSON."""
    return f"""(({window}->>'records')::int + coalesce(({window}->>'additional_records')::int, 0)) AS {side}_records,
           ({window}->>'unclassified_records')::int AS {side}_unclassified, ({window}->>'min_records')::int AS {side}_needed"""


_ENTRIES = f"""
    SELECT w.answering, w.last_seen_at,
           d.no, d.id, d.name, d.owner, m.version AS monitor_version, m.schedule, m.config->'metrics'
        AS picked,
           l.id AS last_id, l.state AS last_state, l.span_end AS last_at, l.finished_at AS last_finished_at,
               l.reason AS last_reason,
           l.failure AS last_failure, l.claimable_at AS last_claimable_at,
           {_select_counts("last", 'l."window"')},
           s.no AS success_no, s.id AS success_id, s.span_end AS success_at, s.monitor_version
               AS success_version,
           s."window" ? 'carried_from' AS carried_forward, o.span_end AS origin_at,
           {_select_counts("success", 'coalesce(o."window", s."window")')}, coalesce(o."window",
               s."window")->'near_twins' AS notes,
           u.state AS under_way, coalesce(n.logged_at, f.newest) AS newest_record_at,
           coalesce(a.open_alerts, 0) AS open_alerts, coalesce(a.unseen, 0) AS unseen,
               a.unseen_since, a.unseen_id,
           coalesce(a.unassigned, 0) AS unassigned, m.config->'names' AS names,
           CASE WHEN %(only_no)s::int IS NOT NULL
               THEN (SELECT min(c.span_start) FROM checks c WHERE c.deployment_no = d.no) END AS first_start
    FROM (
        SELECT count(*) FILTER (WHERE beat_at > now() - %(silent_after)s) AS answering,
               max(beat_at) AS last_seen_at FROM workers
    ) w
    LEFT JOIN deployments d ON d.no = coalesce(%(only_no)s::int, d.no)
    LEFT JOIN monitors m ON m.deployment_no = d.no
    LEFT JOIN LATERAL (
        SELECT * FROM checks c
        WHERE c.deployment_no = d.no AND c.state IN ('succeeded', 'insufficient_data', 'failed')
            AND {OF_SERIES}
        ORDER BY c.span_end DESC, c.no DESC LIMIT 1
    ) l ON true
    LEFT JOIN LATERAL (
        SELECT * FROM checks c
        WHERE c.deployment_no = d.no AND c.state = 'succeeded' AND {OF_SERIES}
        ORDER BY c.span_end DESC, c.no DESC LIMIT 1
    ) s ON true
    LEFT JOIN checks o ON o.id = s."window"->>'carried_from'
    LEFT JOIN LATERAL (
        (SELECT c.state FROM checks c WHERE c.deployment_no = d.no AND c.state = 'running' AND {OF_SERIES}
            LIMIT 1)
        UNION ALL
        (SELECT c.state FROM checks c
         WHERE c.deployment_no = d.no AND c.state = 'queued' AND c.claimable_at IS NOT NULL AND {OF_SERIES}
             LIMIT 1)
        LIMIT 1
    ) u ON true
    LEFT JOIN LATERAL (
        SELECT p.logged_at FROM payload_records p WHERE p.deployment_no = d.no ORDER BY p.logged_at DESC
            LIMIT 1
    ) n ON true
    LEFT JOIN LATERAL (
        SELECT max(f.newest) AS newest FROM listed_files f WHERE f.deployment_no = d.no AND f.side = 'payload'
    ) f ON d.record_tables IS NOT NULL
    LEFT JOIN (
        SELECT w.deployment_no, count(*) AS open_alerts, count(*) FILTER (WHERE w.acknowledged_at IS NULL)
            AS unseen,
               count(*) FILTER (WHERE w.acknowledged_at IS NULL AND w.assignee IS NULL) AS unassigned,
               min(w.opened_at) FILTER (WHERE w.acknowledged_at IS NULL) AS unseen_since,
               (array_agg(w.id ORDER BY w.opened_at, w.no) FILTER (WHERE w.acknowledged_at IS NULL))[1]
                   AS unseen_id
        FROM alerts w WHERE w.resolved_at IS NULL GROUP BY w.deployment_no
    ) a ON a.deployment_no = d.no
    ORDER BY d.no
"""  # noqa: S608 - only the constant above is put in


@frozen
class Entries:
    entries: Sequence[OverviewEntry]
    workers: WorkersSeen


def overview_entries(session: Session, *, only_no: int | None) -> Entries:
    """One statement. `first_start` is of `only_no` alone."""
    rows = read_named_rows(session, _ENTRIES, {"only_no": only_no, "silent_after": SILENT_AFTER})
    # Workers are there without a deployment, too.
    entries = [_read_entry(row) for row in rows if row.no is not None]
    return Entries(entries, read_row(WorkersSeen, rows[0]))


def _read_entry(row: Any) -> OverviewEntry:  # noqa: ANN401 - a row of _ENTRIES
    return read_row(
        OverviewEntry,
        row,
        picked=row.picked and tuple(row.picked),
        last=_read_last(row),
        success=_read_success(row),
        names=msgspec.convert(row.names or {}, DisplayNames),
        unacknowledged=None
        if row.unseen_id is None
        else Unacknowledged(
            alerts=row.unseen,
            since=row.unseen_since,
            alert_id=row.unseen_id,
            unassigned=row.unassigned,
        ),
    )


def _read_last(row: Any) -> EndedCheck | None:  # noqa: ANN401 - as above
    if row.last_id is None:
        return None
    state = CheckState(row.last_state)
    return EndedCheck(
        id=row.last_id,
        state=state,
        at=row.last_at,
        finished_at=row.last_finished_at,
        reason=row.last_reason,
        failure=row.last_failure and Failure(row.last_failure),
        next_attempt_at=row.last_claimable_at if state is CheckState.FAILED else None,
        counts=WindowCounts(
            records=row.last_records, unclassified=row.last_unclassified, needed=row.last_needed
        ),
    )


def _read_success(row: Any) -> Success | None:  # noqa: ANN401 - as above
    if row.success_no is None:
        return None
    return Success(
        no=row.success_no,
        id=row.success_id,
        at=row.success_at,
        measured_at=row.origin_at or row.success_at,
        carried_forward=bool(row.carried_forward),
        monitor_version=row.success_version,
        counts=WindowCounts(
            records=row.success_records, unclassified=row.success_unclassified, needed=row.success_needed
        ),
        notes=tuple(row.notes or ()),
    )


class RankedKey(NamedTuple):
    """The metric by which a deployment is judged. `at` is the end of the check's span."""

    deployment_no: int
    check_no: int
    at: datetime
    metric: str


class RankedFigure(NamedTuple):
    """One metric of one group in that check, for a choice."""

    no: int
    check_no: int
    data: str
    value: float | None
    verdict: str | None
    lower_limit: float | None
    upper_limit: float | None


class GroupKey(NamedTuple):
    deployment_no: int
    metric: str
    data: DataSet
    attribute: str
    group: str


class TrendPoint(NamedTuple):
    """A point with its limits; `value` None is a hole."""

    at: datetime
    value: float | None
    verdict: str | None
    lower_limit: float | None
    upper_limit: float | None
    lower: float | None = None
    upper: float | None = None


# The index of series: by check_no every other metric would be read, too.
_RANKED = """
    SELECT m.no, m.check_no, m.data, m.value, m.verdict, m.lower_limit, m.upper_limit
    FROM unnest(%(deployment_nos)s::int[], %(check_nos)s::bigint[], %(ats)s::timestamptz[],
        %(metrics)s::text[])
         AS wanted(deployment_no, check_no, at, metric)
    JOIN measurements m ON m.deployment_no = wanted.deployment_no AND m.metric = wanted.metric
        AND m.at = wanted.at
         AND m.check_no = wanted.check_no
    WHERE m.scope = 'group' AND m.attribute IS NOT NULL AND m."group" IS NOT NULL
    ORDER BY m.no
"""

_FIGURES = """
    SELECT m.no, m.data, m.attribute, m."group", m.value, m.lower, m.upper, m.n, m.verdict, m.reason,
        m.lower_limit, m.upper_limit,
           m.details->>'reference' AS reference,
           CAST(coalesce(m.details->'monitored_own_n', m.details->'monitored_original_n',
               m.details->'monitored_n') AS int)
               AS monitored_records,
           CAST(coalesce(m.details->'reference_own_n', m.details->'reference_original_n',
               m.details->'reference_n') AS int)
               AS reference_records,
           CAST(m.details->'reference_favourable' AS float) AS reference_favourable
    FROM measurements m WHERE m.no = ANY (%(nos)s::bigint[])
"""

_RECORDS = """
    SELECT deployment_no, sum(records)::bigint FROM record_counts
    WHERE minute >= date_trunc('minute', %(since)s::timestamptz) AND minute <= %(now)s
        AND deployment_no = ANY (%(deployment_nos)s::int[])
    GROUP BY deployment_no
"""

_TRENDS = f"""
    SELECT wanted.place, t.definition, t.at, t.value, t.verdict, t.lower_limit, t.upper_limit,
           t.lower, t.upper
    FROM unnest(%(deployment_nos)s::int[], %(metrics)s::text[], %(datas)s::text[], %(attributes)s::text[],
                %(groups)s::text[]) WITH ORDINALITY AS wanted(deployment_no, metric, data, attribute, "group",
                    place)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (m.at) m.at, m.value, m.verdict, m.lower_limit, m.upper_limit, m.lower, m.upper,
               m.definition
        FROM measurements m JOIN checks c ON c.no = m.check_no
        WHERE m.deployment_no = wanted.deployment_no AND m.metric = wanted.metric AND m.data = wanted.data
          AND m.attribute = wanted.attribute AND m."group" = wanted."group" AND m.scope = 'group'
              AND {OF_SERIES}
        ORDER BY m.at DESC, m.no DESC LIMIT %(points)s
    ) t
    ORDER BY wanted.place, t.at
"""  # noqa: S608 - as above


def ranked_figures(session: Session, keys: Sequence[RankedKey]) -> list[RankedFigure]:
    return [RankedFigure._make(row) for row in read_rows(session, _RANKED, _list_members(RankedKey, keys))]


def _list_members(kind: type[RankedKey | GroupKey], keys: Sequence[RankedKey | GroupKey]) -> dict[str, Any]:
    return {f"{name}s": array_text(getattr(key, name) for key in keys) for name in kind._fields}


def group_figures(session: Session, nos: Sequence[int]) -> list[GroupFigure]:
    return [
        read_row(GroupFigure, row, compared=read_row(Compared, row))
        for row in read_named_rows(session, _FIGURES, {"nos": array_text(nos)})
    ]


def count_records(session: Session, deployment_nos: Sequence[int], *, now: datetime) -> dict[int, int]:
    """Records of this minute and the 60 before it; none for deployments without any."""
    values = {"deployment_nos": array_text(deployment_nos), "now": now, "since": now - LAST_HOUR}
    return dict(read_rows(session, _RECORDS, values))


def trends(session: Session, keys: Sequence[GroupKey], *, points: int) -> list[list[TrendPoint]]:
    """Returns the newest `points` of each series, oldest first, of the newest definition."""
    rows = read_rows(session, _TRENDS, _list_members(GroupKey, keys) | {"points": points})
    # The last of each place stays.
    newest = {position: definition for position, definition, *_ in rows}
    series: list[list[TrendPoint]] = [[] for _ in keys]
    for position, definition, *point in rows:
        if definition == newest[position]:
            series[position - 1].append(TrendPoint._make(point))
    return series
