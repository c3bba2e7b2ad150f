"""Figures of stored checks, computed again from the records with arithmetic that shares nothing with the service's."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

import psycopg

TOLERANCE = 1e-12

_CHECKS = """
    SELECT c.no, c.id, d.no, c.span_start, c.span_end, (c."window" ->> 'records')::int, (c."window" ->> 'additional_records')::int,
        (c."window" ->> 'min_records')::int, (c."window" ->> 'max_records')::int,
        (SELECT min(m.xmin::text::bigint) FROM measurements m WHERE m.check_no = c.no)
    FROM checks c JOIN deployments d ON d.no = c.deployment_no WHERE c.state = 'succeeded' AND NOT c."window" ? 'carried_from'
"""
# Newest first; records of one write have the same time. A wrong clock adds records to past hours: those of later transactions do not count.
_RECORDS = """
    SELECT features ->> 0, (prediction #>> '{}')::numeric, logged_at >= %s FROM payload_records
    WHERE deployment_no = %s AND logged_at < %s AND xmin::text::bigint < %s ORDER BY logged_at DESC, record_no DESC
"""
_FIGURES = """
    SELECT metric, "group", value FROM measurements
    WHERE check_no = %s AND data = 'as_logged' AND scope = 'group'
    AND metric IN ('favourable_rate', 'disparate_impact', 'statistical_parity_difference')
"""


@dataclass(frozen=True)
class Recomputation:
    """How many figures of how many checks were compared, and those that differ."""

    checks: int
    figures: int
    wrong: tuple[str, ...]


def recompute(connection: psycopg.Connection[Any], moments: Mapping[str, Sequence[int]] = MappingProxyType({})) -> Recomputation:
    """Compares rates, their ratio and their difference of women and men in every check that succeeded.

    A clock that is set back adds records to past hours, so a check has those of earlier transactions, as of one moment of its run: when it
    was stored, or one of its `moments` before.
    """
    wrong: list[str] = []
    checks = figures = 0
    for check_no, check_id, *window, stored in connection.execute(_CHECKS).fetchall():
        values = connection.execute(_FIGURES, [check_no]).fetchall()
        checks += 1
        figures += len(values)
        problems = _compare(connection, window, values, stored)
        if problems and all(_compare(connection, window, values, moment) for moment in moments.get(check_id, ())):
            wrong += [f"check {check_id}: {problem}" for problem in problems]
    return Recomputation(checks, figures, tuple(wrong))


def _compare(connection: psycopg.Connection[Any], window: Sequence[Any], values: Sequence[Any], transaction: int) -> list[str]:
    """Returns what differs from the records of transactions before that one."""
    deployment_no, start, end, own, additional, *bounds = window
    favourable, records, in_span = _count(connection, deployment_no, start, end, bounds, transaction)
    if (in_span, records.total() - in_span) != (own, additional):
        to_add = records.total() - in_span
        return [f"{start} to {end} says {own} records and {additional} from before; {in_span} were logged, and {to_add} are to be added"]
    rates = {sex: favourable[sex] / records[sex] for sex in records}
    problems = []
    for metric, group, value in values:
        right = _figure(metric, group, rates)
        differs = right is not value if right is None or value is None else abs(value - right) > TOLERANCE
        if differs:
            problems.append(f"{metric} of {group} is {value}, by hand {right}")
    return problems


def _count(
    connection: psycopg.Connection[Any], deployment_no: int, start: datetime, end: datetime, bounds: Sequence[int], transaction: int
) -> tuple[Counter[str], Counter[str], int]:
    """Returns favourable and all records of the window by sex: the newest of the span up to the higher of the `bounds`, and the newest from
    before up to the lower one in all.
    """
    (needed, most), favourable, records, in_span = bounds, Counter[str](), Counter[str](), 0
    for sex, prediction, is_own in connection.execute(_RECORDS, [start, deployment_no, end, transaction]):
        if records.total() >= (most if is_own else needed):
            break
        records[sex] += 1
        favourable[sex] += prediction == 1
        in_span += is_own
    return favourable, records, in_span


def _figure(metric: str, group: str, rates: dict[str, float]) -> float | None:
    if metric == "favourable_rate":
        return rates.get(group)
    monitored, reference = rates.get(group), rates.get("male")
    if monitored is None or reference is None:
        return None
    if metric == "statistical_parity_difference":
        return monitored - reference
    return monitored / reference if reference else None
