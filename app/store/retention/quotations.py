"""Quotations of endpoints in stored reasons, which may repeat a record."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from .record_traces import FORGETS_REASONS, QUOTES_ENDPOINTS, QUOTES_IN_JSON

_MARK = "%Its answer began:%"

# The row's number, and its time.
_KEYS = {"endpoint_failures": "deployment_no"}
_TIMES = {"checks": "span_start", "attributions": "span_start", "endpoint_failures": "failed_at", "alerts": "opened_at"}
_OF_DEPLOYMENT = {"notifications": "alert_no IN (SELECT no FROM alerts WHERE deployment_no = :deployment)"}


def remove_quotations(session: Session, deployment_no: int, *, before: datetime | None, shorten: Callable[[str], str]) -> dict[str, int]:
    """Removes endpoints' answers from reasons before that time; returns counts by table."""
    counts = {}
    for table, column in {**QUOTES_ENDPOINTS, **QUOTES_IN_JSON}.items():
        key, time = _KEYS.get(table, "no"), _TIMES.get(table, "created_at")
        mine = _OF_DEPLOYMENT.get(table, "deployment_no = :deployment")
        aged = "" if before is None else f" AND {time} < :before"
        values = {"deployment": deployment_no, "mark": _MARK} | ({} if before is None else {"before": before})
        found = session.execute(
            text(f'SELECT {key} AS key, "{column}" AS quoting FROM {table} WHERE {mine} AND "{column}"::text LIKE :mark{aged}'),  # noqa: S608 - constants
            values,
        ).all()
        kind = "jsonb" if table in QUOTES_IN_JSON else "text"
        change = text(f'UPDATE {table} SET "{column}" = CAST(:value AS {kind}) WHERE {key} = :key')  # noqa: S608 - constants
        for row in found:
            value = _shorten(row.quoting, shorten)
            session.execute(change, {"key": row.key, "value": value if kind == "text" else msgspec.json.encode(value).decode()})
        counts[table] = len(found)
    return {table: count for table, count in counts.items() if count}


def forget_rejection_reasons(session: Session, deployment_no: int, *, before: datetime | None) -> dict[str, int]:
    """Empties the reasons of the last rejections before that time, or all; counts stay. Returns counts by table."""
    aged = "" if before is None else " AND hour < :before"
    values = {"no": deployment_no} | ({} if before is None else {"before": before})
    emptied = session.execute(
        text(f"UPDATE {FORGETS_REASONS} SET reason = NULL WHERE deployment_no = :no AND reason IS NOT NULL{aged}"),  # noqa: S608 - constants
        values,
    )
    count = emptied.rowcount  # type: ignore[attr-defined]
    return {FORGETS_REASONS: count} if count else {}


def _shorten(value: Any, shorten: Callable[[str], str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, Mapping):
        return {name: _shorten(member, shorten) for name, member in value.items()}
    return [_shorten(one, shorten) for one in value] if isinstance(value, list) else value
