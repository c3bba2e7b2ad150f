"""Notes of failed log-ins as activities, and the bound on how many failures are noted."""

import threading
from collections.abc import Callable

from ..base.clock import monotonic_seconds
from ..database.engine import Database
from .audit.activity_queries import record_activity
from .principals import USER_PREFIX
from .users.user_rules import NAME_FORM, find_user

REFUSED = "session.refused"
"""Activity of a failed log-in."""

UNKNOWN_ACTOR = "unknown"
"""Actor of a failed log-in with a name that no user has: it may be a password in the wrong field."""

MAX_NOTED_FAILURES = 60
NOTE_WINDOW_SECONDS = 3600.0


class FailureBudget:
    """Bounds the failures that are noted in `NOTE_WINDOW_SECONDS`. Safe to share between threads."""

    def __init__(self, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._window_start = clock()
        self._noted = 0
        self._left_out = 0

    def admit(self) -> int | None:
        """Returns the number of failures left out before, if this one may be noted; else None."""
        with self._lock:
            if self._clock() - self._window_start >= NOTE_WINDOW_SECONDS:
                self._window_start, self._noted = self._clock(), 0
            if self._noted >= MAX_NOTED_FAILURES:
                self._left_out += 1
                return None
            self._noted += 1
            left_out, self._left_out = self._left_out, 0
            return left_out


class FailedLogIns:
    """Notes failed log-ins as activities. Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._database = database
        self._budget = FailureBudget(clock=clock)

    def note(self, name: str, *, method: str, address: str) -> None:
        """Records the failure, unless too many were noted lately. `name` is as it was typed."""
        left_out = self._budget.admit()
        if left_out is None:
            return
        details: dict[str, object] = {"method": method, "address": address}
        if left_out:
            details["failures_left_out"] = left_out
        with self._database.transaction() as session:
            is_user = NAME_FORM.fullmatch(name) is not None and find_user(session, name) is not None
            actor = f"{USER_PREFIX}{name}" if is_user else UNKNOWN_ACTOR
            record_activity(session, actor, REFUSED, details=details)
