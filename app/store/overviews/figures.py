"""Figures of an overview, and trends. Each function is one statement."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from sqlalchemy.orm import Session

from ...domain.checks import DataSet
from ...frozen import frozen
from ..database.rows import array_text, read_named_rows, read_row, read_rows
from .overview import LAST_HOUR, OF_SERIES


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The reference of a comparison, and both sides' records with an outcome, without copies; None if not stored."""

    reference: str | None
    monitored_records: int | None
    reference_records: int | None
    reference_favourable: float | None


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


class GroupFigure(msgspec.Struct, frozen=True, kw_only=True):
    no: int
    data: DataSet
    attribute: str
    group: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    verdict: str | None
    reason: str | None
    lower_limit: float | None
    upper_limit: float | None
    compared: Compared


@frozen(kw_only=True)
class GroupKey:
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


# The index of series: by check_no every other metric would be read, too.
_RANKED = """
    SELECT m.no, m.check_no, m.data, m.value, m.verdict, m.lower_limit, m.upper_limit
    FROM unnest(%(deployment_nos)s::int[], %(check_nos)s::bigint[], %(ats)s::timestamptz[], %(metrics)s::text[])
         AS wanted(deployment_no, check_no, at, metric)
    JOIN measurements m ON m.deployment_no = wanted.deployment_no AND m.metric = wanted.metric AND m.at = wanted.at
         AND m.check_no = wanted.check_no
    WHERE m.scope = 'group' AND m.attribute IS NOT NULL AND m."group" IS NOT NULL
    ORDER BY m.no
"""

_FIGURES = """
    SELECT m.no, m.data, m.attribute, m."group", m.value, m.lower, m.upper, m.n, m.verdict, m.reason, m.lower_limit, m.upper_limit,
           m.details->>'reference' AS reference,
           CAST(coalesce(m.details->'monitored_own_n', m.details->'monitored_original_n', m.details->'monitored_n') AS int)
               AS monitored_records,
           CAST(coalesce(m.details->'reference_own_n', m.details->'reference_original_n', m.details->'reference_n') AS int)
               AS reference_records,
           CAST(m.details->'reference_favourable' AS float) AS reference_favourable
    FROM measurements m WHERE m.no = ANY (%(nos)s::bigint[])
"""

_RECORDS = """
    SELECT deployment_no, sum(records)::bigint FROM record_counts
    WHERE minute >= date_trunc('minute', %(since)s::timestamptz) AND minute <= %(now)s AND deployment_no = ANY (%(deployment_nos)s::int[])
    GROUP BY deployment_no
"""

_TRENDS = f"""
    SELECT wanted.place, t.definition, t.at, t.value, t.verdict, t.lower_limit, t.upper_limit
    FROM unnest(%(deployment_nos)s::int[], %(metrics)s::text[], %(data)s::text[], %(attributes)s::text[],
                %(groups)s::text[]) WITH ORDINALITY AS wanted(deployment_no, metric, data, attribute, "group", place)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (m.at) m.at, m.value, m.verdict, m.lower_limit, m.upper_limit, m.definition
        FROM measurements m JOIN checks c ON c.no = m.check_no
        WHERE m.deployment_no = wanted.deployment_no AND m.metric = wanted.metric AND m.data = wanted.data
          AND m.attribute = wanted.attribute AND m."group" = wanted."group" AND m.scope = 'group' AND {OF_SERIES}
        ORDER BY m.at DESC, m.no DESC LIMIT %(points)s
    ) t
    ORDER BY wanted.place, t.at
"""  # noqa: S608 - as above


def ranked_figures(session: Session, keys: Sequence[RankedKey]) -> list[RankedFigure]:
    wanted = {f"{name}s": array_text(getattr(key, name) for key in keys) for name in RankedKey._fields}
    return [RankedFigure._make(row) for row in read_rows(session, _RANKED, wanted)]


def group_figures(session: Session, nos: Sequence[int]) -> list[GroupFigure]:
    return [
        read_row(GroupFigure, row, compared=read_row(Compared, row)) for row in read_named_rows(session, _FIGURES, {"nos": array_text(nos)})
    ]


def count_records(session: Session, deployment_nos: Sequence[int], *, now: datetime) -> dict[int, int]:
    """Records of this minute and the 60 before it; none for deployments without any."""
    values = {"deployment_nos": array_text(deployment_nos), "now": now, "since": now - LAST_HOUR}
    return dict(read_rows(session, _RECORDS, values))


def trends(session: Session, keys: Sequence[GroupKey], *, points: int) -> list[list[TrendPoint]]:
    """Returns the newest `points` of each series, oldest first, of the newest definition."""
    wanted = {
        "deployment_nos": [key.deployment_no for key in keys],
        "metrics": [key.metric for key in keys],
        "data": [key.data.value for key in keys],
        "attributes": [key.attribute for key in keys],
        "groups": [key.group for key in keys],
        "points": points,
    }
    rows = read_rows(session, _TRENDS, wanted)
    # The last of each place stays.
    newest = {place: definition for place, definition, *_ in rows}
    found: list[list[TrendPoint]] = [[] for _ in keys]
    for place, definition, *point in rows:
        if definition == newest[place]:
            found[place - 1].append(TrendPoint._make(point))
    return found
