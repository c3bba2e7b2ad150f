"""Counts of what became of calls, collected in memory."""

from collections import Counter
from dataclasses import replace
from datetime import datetime

from ..clock import hour_of
from ..domain.intake import IntakeCount, IntakeOutcome

MAX_REASON_CHARACTERS = 300


class IntakeCounts:
    """Counts that are not stored yet. Belongs to one event loop."""

    def __init__(self) -> None:
        self._counts: Counter[IntakeCount] = Counter()
        self._reasons: dict[IntakeCount, str] = {}

    def add(
        self,
        deployment_no: int,
        source: str,
        outcome: IntakeOutcome,
        count: int,
        *,
        received_at: datetime,
        reason: str | None = None,
    ) -> None:
        if not count:
            return
        key = IntakeCount(deployment_no=deployment_no, hour=hour_of(received_at), source=source, outcome=outcome, count=0)
        self._counts[key] += count
        if reason is not None:
            self._reasons[key] = reason[:MAX_REASON_CHARACTERS]

    def collected(self) -> list[IntakeCount]:
        return [replace(key, count=count, reason=self._reasons.get(key)) for key, count in self._counts.items()]

    def clear(self) -> None:
        self._counts.clear()
        self._reasons.clear()
