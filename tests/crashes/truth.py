"""What must be true of the database whatever was killed: every acknowledged record once, and no half-written check."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg

from tests.crashes.ledger import Key, Ledger, Record

SHOWN = 5
"""Examples of a violation that are named."""


@dataclass
class RecordCounts:
    """Payload records and labels: what was sent, what was acknowledged, what is there."""

    sent: int = 0
    acknowledged: int = 0
    present: int = 0
    lost: int = 0
    duplicated: int = 0
    inconsistent: int = 0
    never_sent: int = 0
    altered: int = 0
    labels_acknowledged: int = 0
    labels_present: int = 0
    labels_lost: int = 0
    violations: list[str] = field(default_factory=list)

    def blame(self, what: str, found: "set[Key] | list[Key]") -> int:
        """Notes a violation where anything was found; how many."""
        if found:
            self.violations.append(f"{len(found)} {what}, for instance {sorted(found)[:SHOWN]}")
        return len(found)


def count_records(connection: psycopg.Connection[Any], ledger: Ledger, *, without: Collection[str] = ()) -> RecordCounts:
    """Compares all that is stored, but for some deployments, with all that was sent. Call it when no client is at work."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.execute("SET LOCAL timezone = 'UTC'")
        keys = {key: place for key, place in _keys(connection).items() if key[0] not in without}
        records = [record for record in _records(connection) if record[0][0] not in without]
        labels = {key: label for key, label in _labels(connection).items() if key[0] not in without}
    counts = RecordCounts(sent=len(ledger.payload), acknowledged=len(ledger.acknowledged_payload))
    times_stored = Counter(key for key, _, _ in records)
    by_key = {key: (place, content) for key, place, content in records}
    counts.present = len(by_key)
    counts.lost = counts.blame("acknowledged records are lost", ledger.acknowledged_payload - (by_key.keys() & keys.keys()))
    counts.duplicated = counts.blame("records are stored twice", [key for key, times in times_stored.items() if times > 1])
    torn = {key for key in keys.keys() | by_key.keys() if keys.get(key) != (by_key[key][0] if key in by_key else None)}
    counts.inconsistent = counts.blame("keys and records do not belong together", torn)
    counts.never_sent = counts.blame("records were never sent", by_key.keys() - ledger.payload.keys())
    sent = ledger.payload
    changed = {key for key, (_, content) in by_key.items() if key in sent and not _is_same(sent[key], content)}
    counts.altered = counts.blame("records differ from what was sent", changed)
    _count_labels(counts, ledger, keys, labels)
    return counts


def _count_labels(counts: RecordCounts, ledger: Ledger, keys: dict[Key, Any], labels: dict[Key, tuple[int, Any]]) -> None:
    counts.labels_acknowledged, counts.labels_present = len(ledger.acknowledged_labels), len(labels)
    counts.labels_lost = counts.blame("acknowledged labels are lost", ledger.acknowledged_labels - labels.keys())
    counts.blame("labels were never sent", labels.keys() - ledger.labels.keys())
    counts.blame("labels differ from what was sent", {key for key, (label, _) in labels.items() if ledger.labels.get(key, label) != label})
    stray = {key for key, (_, place) in labels.items() if place is not None and keys.get(key) != place}
    counts.blame("labels are joined to a record that is not theirs", stray)


def _keys(connection: psycopg.Connection[Any]) -> dict[Key, tuple[int, datetime]]:
    rows = connection.execute(
        "SELECT d.id, k.record_id, k.record_no, k.logged_at FROM payload_keys k LEFT JOIN deployments d ON d.no = k.deployment_no"
    )
    return {(deployment, record_id): (no, at) for deployment, record_id, no, at in rows}


def _records(connection: psycopg.Connection[Any]) -> list[tuple[Key, tuple[int, datetime], Record]]:
    rows = connection.execute(
        "SELECT d.id, r.record_id, r.record_no, r.logged_at, r.features, r.meta, r.prediction, r.probability, r.scored_at"
        " FROM payload_records r LEFT JOIN deployments d ON d.no = r.deployment_no"
    )
    names = ("features", "meta", "prediction", "probability", "scored_at")
    return [((row[0], row[1]), (row[2], row[3]), dict(zip(names, row[4:], strict=True))) for row in rows]


def _labels(connection: psycopg.Connection[Any]) -> dict[Key, tuple[int, tuple[int, datetime] | None]]:
    rows = connection.execute(
        "SELECT d.id, f.feedback_id, f.label, f.record_no, f.record_logged_at"
        " FROM feedback_records f LEFT JOIN deployments d ON d.no = f.deployment_no"
    )
    return {(deployment, feedback_id): (label, None if no is None else (no, at)) for deployment, feedback_id, label, no, at in rows}


def _is_same(sent: Record, stored: Record) -> bool:
    moment = sent.get("scored_at")
    return (
        stored["features"] == list(sent["features"].values())
        and stored["meta"] == (list(sent["meta"].values()) if "meta" in sent else None)
        and (stored["prediction"], stored["probability"]) == (sent["prediction"], sent["probability"])
        and (moment is None or stored["scored_at"] == datetime.fromisoformat(moment))
    )


@dataclass(frozen=True)
class CheckFacts:
    """One stored check and how much it has written."""

    id: str
    deployment: str
    state: str
    attempts: int
    finished_at: datetime | None
    window: dict[str, Any] | None
    reason: str | None
    measurements: int
    distinct_measurements: int
    tables: int


@dataclass(frozen=True)
class CheckTruth:
    """All checks at one moment, and what is wrong with them."""

    checks: tuple[CheckFacts, ...]
    counterfactuals: int
    half_written: tuple[str, ...]
    next_transaction: int

    def in_state(self, *states: str) -> list[CheckFacts]:
        """Those in one of the states."""
        return [check for check in self.checks if check.state in states]


_CHECKS = """
    SELECT c.id, d.id, c.state, c.attempts, c.finished_at, c."window", c.reason,
           (SELECT count(*) FROM measurements m WHERE m.check_no = c.no),
           (SELECT count(DISTINCT (metric, data, scope, attribute, "group")) FROM measurements m WHERE m.check_no = c.no),
           (SELECT count(*) FROM check_tables t WHERE t.check_no = c.no)
    FROM checks c JOIN deployments d ON d.no = c.deployment_no
    ORDER BY c.no
"""
_NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_COUNTERFACTUALS = """
    SELECT coalesce(d.id, 'no deployment'), count(*)
    FROM counterfactuals f LEFT JOIN copy_targets t ON t.no = f.target_no LEFT JOIN deployments d ON d.no = t.deployment_no
    GROUP BY 1
"""


def look_at_checks(connection: psycopg.Connection[Any]) -> CheckTruth:
    """One look at all checks in one moment of the database.

    Half-written is: a check that has not succeeded but left rows; one that succeeded without tables or measurements, or
    with one of them twice; and answers of the model in any other number than what the succeeded checks say they asked for.
    """
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        checks = tuple(CheckFacts(*row) for row in connection.execute(_CHECKS))
        next_transaction: int = connection.execute(_NEXT_TRANSACTION).fetchall()[0][0]
        stored: dict[str, int] = dict(connection.execute(_COUNTERFACTUALS).fetchall())
    wrong = [text for check in checks for text in _wrong_with(check)]
    asked: Counter[str] = Counter()
    for check in checks:
        if check.state == "succeeded" and not _is_carried(check):
            asked[check.deployment] += int((check.window or {}).get("copies_to_score", 0))
    wrong += [
        f"{deployment}: {stored.get(deployment, 0)} answers are stored, its succeeded checks asked for {asked[deployment]}"
        for deployment in {*stored, *asked}
        if stored.get(deployment, 0) != asked[deployment]
    ]
    return CheckTruth(checks, sum(stored.values()), tuple(wrong), next_transaction)


def _wrong_with(check: CheckFacts) -> list[str]:
    who = f"check {check.id} of {check.deployment} ({check.state}, attempt {check.attempts})"
    if check.state != "succeeded":
        left = check.measurements + check.tables
        return [f"{who} left {check.measurements} measurements and {check.tables} tables"] if left else []
    wrong = []
    if not check.measurements or not (check.tables or _is_carried(check)):
        wrong.append(f"{who} has {check.measurements} measurements and {check.tables} tables")
    if check.measurements != check.distinct_measurements:
        wrong.append(f"{who} has {check.measurements} measurements, but {check.distinct_measurements} different ones")
    return wrong


def _is_carried(check: CheckFacts) -> bool:
    return "carried_from" in (check.window or {})
