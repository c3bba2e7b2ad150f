"""The client for programs on an event loop: nothing blocks the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .client import EXIT_SECONDS, Evenhand
from .counting import Report, Stats


class AsyncEvenhand:
    """An `Evenhand` whose slow calls are awaited. It takes the same options, or an `Evenhand` to share."""

    def __init__(self, *arguments: Any, client: Evenhand | None = None, **options: Any) -> None:  # noqa: ANN401 - those of Evenhand
        self.client = client or Evenhand(*arguments, **options)

    async def log(
        self,
        features: Mapping[str, Any],
        prediction: Any,  # noqa: ANN401 - as `Evenhand.log`
        probability: Any = None,  # noqa: ANN401 - as above
        id: str | None = None,  # noqa: A002 - as above
        meta: Mapping[str, Any] | None = None,
        scored_at: Any = None,  # noqa: ANN401 - as above
        label: Any = None,  # noqa: ANN401 - as above
    ) -> str:
        """Takes a record and returns its id, as `Evenhand.log`; where the queue is full, the loop goes on while this waits."""
        members = (features, prediction, probability, id, meta, scored_at, label)
        return await asyncio.to_thread(self.client.log, *members) if self.client.is_full else self.client.log(*members)

    async def log_label(self, id: str, label: Any) -> None:  # noqa: A002, ANN401 - as above
        """Takes the observed outcome of the record of that id."""
        self.client.log_label(id, label)

    async def correct(self, record_id: str, what: str, new: Any, reason: str, **more: Any) -> None:  # noqa: ANN401 - as above
        """Takes a correction, as `Evenhand.correct`."""
        self.client.correct(record_id, what, new, reason, **more)

    async def flush(self, timeout: float = 30.0) -> Report:
        """Sends what was logged so far, as `Evenhand.flush`."""
        return await asyncio.to_thread(self.client.flush, timeout)

    def stats(self) -> Stats:
        """Returns the counts so far."""
        return self.client.stats()

    async def close(self, timeout: float = EXIT_SECONDS) -> Report:
        """Flushes and stops, as `Evenhand.close`."""
        return await asyncio.to_thread(self.client.close, timeout)

    async def __aenter__(self) -> AsyncEvenhand:  # noqa: PYI034 - Self needs Python 3.11
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
