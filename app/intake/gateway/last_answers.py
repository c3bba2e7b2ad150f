"""Answers of the database that are used while it does not answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...base.clock import monotonic_seconds
from ...base.errors import EvenhandError, Unavailable

PATIENCE_SECONDS = 0.5
"""Wait for the database where an earlier answer is known."""

QUIET_SECONDS = 1.0
"""Pause of questions after an unanswered one."""

MAX_AGE_SECONDS = 24 * 3600.0

_MOST_KEPT = 10_000

_T = TypeVar("_T")
_K = TypeVar("_K")


@dataclass(slots=True)
class _Known(Generic[_T]):
    value: _T
    answered_at: float
    quiet_until: float = 0.0


class LastAnswers(Generic[_K, _T]):
    """The last answer to each question. Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._known: dict[_K, _Known[_T]] = {}

    async def ask(self, key: _K, look_up: Callable[[], Awaitable[_T]]) -> _T:
        """Present answer; the last one where the database gives none in time.

        Raises:
            Unavailable: there is no earlier answer, or it is too old.
            EvenhandError: any other of `look_up`; the earlier answer is forgotten then.
        """
        remembered = self._known.get(key)
        now = self._clock()
        if remembered is not None and now < remembered.quiet_until:
            return remembered.value
        try:
            async with asyncio.timeout(None if remembered is None else PATIENCE_SECONDS):
                value = await look_up()
        except (Unavailable, TimeoutError):
            if remembered is None or now - remembered.answered_at > MAX_AGE_SECONDS:
                self._known.pop(key, None)
                raise
            remembered.quiet_until = self._clock() + QUIET_SECONDS
            return remembered.value
        except EvenhandError:
            self._known.pop(key, None)
            raise
        if remembered is not None:
            remembered.value, remembered.answered_at = value, now
        else:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = _Known(value, now)
        return value
