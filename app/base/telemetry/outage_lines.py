"""Log lines about an outage: at its beginning, one a minute with a count, at its end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from ..clock import monotonic_seconds

REPEAT_SECONDS = 60.0


@dataclass
class OutageLog:
    """Log of one dependency; `away` and `back` are the events at the beginning and the end of an outage."""

    away: str
    back: str
    clock: Callable[[], float] = monotonic_seconds
    _log: Any = field(default_factory=structlog.get_logger)
    _began: float | None = None
    _logged_at: float = 0.0
    _failures: int = 0

    def fail(self, **facts: Any) -> None:  # noqa: ANN401 - any value of a log line
        now = self.clock()
        self._failures += 1
        if self._began is None:
            self._began = self._logged_at = now
            self._log.warning(self.away, **facts)
        elif now - self._logged_at >= REPEAT_SECONDS:
            self._logged_at = now
            self._log.warning(self.away, failures=self._failures, seconds=round(now - self._began), **facts)

    def end(self) -> None:
        if self._began is not None:
            self._log.info(self.back, failures=self._failures, seconds=round(self.clock() - self._began))
            self._began, self._failures = None, 0
