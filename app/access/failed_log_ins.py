"""Failed log-ins among the activities: enough to see an attack, bounded however many an attacker makes."""

import threading
from collections.abc import Callable

from ..base.clock import monotonic_seconds
from ..database.engine import Database
from .audit.activity_queries import record_activity
from .users import queries as users
from .users.user_rules import NAME

REFUSED = "session.refused"
UNKNOWN = "unknown"
"""A name that no user has is not kept: it may be a password in the wrong field."""

MOST_KEPT = 60
WINDOW_SECONDS = 3600.0


class FailureBudget:
    """Safe to share between threads."""

    def __init__(self, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._kept = 0
        self._left_out = 0

    def admit(self) -> int | None:
        with self._lock:
            if self._clock() - self._began >= WINDOW_SECONDS:
                self._began, self._kept = self._clock(), 0
            if self._kept >= MOST_KEPT:
                self._left_out += 1
                return None
            self._kept += 1
            left_out, self._left_out = self._left_out, 0
            return left_out


class FailedLogIns:
    """Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._database = database
        self._budget = FailureBudget(clock=clock)

    def note(self, name: str, *, method: str, address: str) -> None:
        left_out = self._budget.admit()
        if left_out is None:
            return
        details = {"method": method, "address": address} | (
            {"failures_left_out": left_out} if left_out else {}
        )
        with self._database.transaction() as session:
            is_user = NAME.fullmatch(name) is not None and users.find(session, name) is not None
            record_activity(session, f"user:{name}" if is_user else UNKNOWN, REFUSED, details=details)
