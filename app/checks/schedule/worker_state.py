"""Workers, and whether one of them answers: without one no check runs and no alert is sent."""

from datetime import datetime, timedelta
from enum import StrEnum

from ...base.frozen import frozen_by_name

BEAT_SECONDS = 10

SILENT_AFTER = timedelta(seconds=45)

FORGOTTEN_AFTER = timedelta(hours=1)


class WorkerState(StrEnum):
    """State of all workers together; `silent`: none answers, but one did once; `never_seen`: none ever
    did.
    """

    ANSWERING = "answering"
    SILENT = "silent"
    NEVER_SEEN = "never_seen"


@frozen_by_name
class WorkersSeen:
    """Number of workers that answer, and their newest heartbeat; None where there never was one. On the
    database's clock.
    """

    answering: int
    last_seen_at: datetime | None

    @property
    def state(self) -> WorkerState:
        if self.answering:
            return WorkerState.ANSWERING
        return WorkerState.NEVER_SEEN if self.last_seen_at is None else WorkerState.SILENT
