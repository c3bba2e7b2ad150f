"""A clock that moves only when somebody sleeps on it."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from app.calls.scoring.ask_page import Timing


@dataclass
class FakeTime:
    """Seconds since an arbitrary start, and every sleep that was asked for."""

    seconds: float = 100.0
    slept: list[float] = field(default_factory=list)

    @property
    def timing(self) -> Timing:
        """This clock as the client wants it."""
        return Timing(monotonic=lambda: self.seconds, sleep=self.sleep, now=self.now)

    async def sleep(self, seconds: float) -> None:
        """Passes at once, and moves the clock."""
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def now(self) -> datetime:
        """The moment on the wall."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds - 100)
