"""Words for the time in which no worker answers."""

from datetime import UTC

from ...base.values import frozen_by_name
from .worker_queries import WorkersSeen, WorkerState

RUNBOOK = "docs/operations/runbook.md#no-worker-answers"
"""Section that says what to do."""

_SILENT = (
    "No worker has answered since {since}. Checks and alerts wait; logging goes on, and nothing that "
    "is logged is lost."
)
_NEVER_SEEN = (
    "No worker has answered yet. Checks and alerts wait; logging goes on, and nothing that is logged is lost."
)
_START = "Start one with evenhand worker, or with evenhand serve, which runs one itself."
_START_AGAIN = (
    "The end of the worker's log says why it stopped. Start it again with evenhand worker or evenhand serve."
)


@frozen_by_name
class WorkerNotice:
    sentence: str
    next_step: str


def choose_notice(workers: WorkersSeen) -> WorkerNotice | None:
    """None while a worker answers."""
    match workers.state:
        case WorkerState.ANSWERING:
            return None
        case WorkerState.NEVER_SEEN:
            return WorkerNotice(sentence=_NEVER_SEEN, next_step=_START)
        case WorkerState.SILENT:
            at = workers.last_seen_at
            since = (
                "a time that is not known" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
            )
            return WorkerNotice(sentence=_SILENT.format(since=since), next_step=_START_AGAIN)


def describe_silence(workers: WorkersSeen) -> str | None:
    """First sentence of the notice, for texts that go on; None while a worker answers."""
    notice = choose_notice(workers)
    return f"{notice.sentence.partition('. ')[0]}." if notice else None
