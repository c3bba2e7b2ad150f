"""Log lines about an outage: at its beginning, one a minute with a count, at its end."""

from collections.abc import Callable
from typing import Any

import structlog

from ..clock import monotonic_seconds

REPEAT_SECONDS = 60.0


class OutageLog:
    """`away` and `back` are the names of the events."""

    def __init__(self, away: str, back: str, *, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._away = away
        self._back = back
        self._clock = clock
        self._log = structlog.get_logger()
        self._began: float | None = None
        self._said = 0.0
        self._failures = 0

    def fail(self, **facts: Any) -> None:  # noqa: ANN401 - any value of a log line
        """Counts a failure, and logs it with these facts where that is due."""
        now = self._clock()
        self._failures += 1
        if self._began is None:
            self._began = self._said = now
            self._log.warning(self._away, **facts)
        elif now - self._said >= REPEAT_SECONDS:
            self._said = now
            self._log.warning(self._away, failures=self._failures, seconds=round(now - self._began), **facts)

    def end(self) -> None:
        if self._began is not None:
            self._log.info(self._back, failures=self._failures, seconds=round(self._clock() - self._began))
            self._began, self._failures = None, 0
