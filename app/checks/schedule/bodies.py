"""The body that says whether a worker answers."""

from datetime import datetime

from ...web.body import Out, example
from .worker_queries import RUNBOOK, WorkersSeen, WorkerState, choose_notice

_SILENT = {
    "state": "silent",
    "answering": 0,
    "last_seen_at": "2026-11-20T15:00:05Z",
    "sentence": "No worker has answered since 2026-11-20 15:00:05 UTC. Checks and alerts wait; logging goes "
    "on, and nothing that is logged is lost.",
    "next_step": "The end of the worker's log says why it stopped. Start it again with evenhand worker or "
    "evenhand serve.",
    "runbook": RUNBOOK,
}


class WorkersOut(Out):
    """The state of the workers: if none answers, no check runs and no alert is sent."""

    model_config = example(_SILENT)

    state: WorkerState
    """`answering`: at least one does. `silent`: one did once. `never_seen`: none ever did."""

    answering: int
    """Workers that gave a heartbeat within the last 45 seconds."""

    last_seen_at: datetime | None
    """The newest heartbeat of any worker, on the database's clock."""

    sentence: str | None
    """Since when none answers and what that means; null while one answers."""

    next_step: str | None
    """The step to take; null while one answers."""

    runbook: str
    """The section of the documentation about it."""

    @classmethod
    def of(cls, workers: WorkersSeen) -> "WorkersOut":
        notice = choose_notice(workers)
        return cls.from_object(
            workers,
            sentence=notice and notice.sentence,
            next_step=notice and notice.next_step,
            runbook=RUNBOOK,
        )
