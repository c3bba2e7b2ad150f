"""Figures of stored checks, computed again from the records with arithmetic that shares nothing with the service's."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg

TOLERANCE = 1e-12

_CHECKS = """
    SELECT c.no, c.id, d.no, c.span_start, c.span_end, (c."window" ->> 'records')::int, (c."window" ->> 'additional_records')::int,
        (c."window" ->> 'min_records')::int
    FROM checks c JOIN deployments d ON d.no = c.deployment_no WHERE c.state = 'succeeded' AND NOT c."window" ? 'carried_from'
"""
# Newest first; records of one write have the same time.
_RECORDS = """
    SELECT features ->> 0, (prediction #>> '{}')::numeric, logged_at >= %s FROM payload_records
    WHERE deployment_no = %s AND logged_at < %s ORDER BY logged_at DESC, record_no DESC
"""
_FIGURES = """
    SELECT metric, "group", value FROM measurements
    WHERE check_no = %s AND data = 'payload' AND scope = 'group'
    AND metric IN ('favourable_rate', 'disparate_impact', 'statistical_parity_difference')
"""


@dataclass
class Recomputer:
    """Checks whose figures were compared, how many figures these are, and those that differ."""

    checks: set[int] = field(default_factory=set)
    figures: int = 0
    wrong: list[str] = field(default_factory=list)

    def recompute(self, connection: psycopg.Connection[Any]) -> None:
        """Compares rates, their ratio and their difference of women and men in every check that succeeded since the last call."""
        for check_no, check_id, deployment_no, start, end, own, additional, needed in connection.execute(_CHECKS).fetchall():
            if check_no in self.checks:
                continue
            self.checks.add(check_no)
            favourable, records, in_span = _count(connection, deployment_no, start, end, needed)
            if (in_span, records.total() - in_span) != (own, additional):
                self.wrong.append(
                    f"check {check_id} of {start} to {end} says {own} records and {additional} from before;"
                    f" {in_span} were logged, and {records.total() - in_span} are to be added"
                )
                continue
            rates = {sex: favourable[sex] / records[sex] for sex in records}
            for metric, group, value in connection.execute(_FIGURES, [check_no]):
                right = _figure(metric, group, rates)
                self.figures += 1
                differs = right is not value if right is None or value is None else abs(value - right) > TOLERANCE
                if differs:
                    self.wrong.append(f"check {check_id}: {metric} of {group} is {value}, by hand {right}")


def _count(
    connection: psycopg.Connection[Any], deployment_no: int, start: datetime, end: datetime, needed: int
) -> tuple[Counter[str], Counter[str], int]:
    """Returns favourable and all records of the window by sex: those of the span, and the newest from before up to `needed` in all."""
    favourable, records, in_span = Counter[str](), Counter[str](), 0
    for sex, prediction, is_own in connection.execute(_RECORDS, [start, deployment_no, end]):
        if not is_own and records.total() >= needed:
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
