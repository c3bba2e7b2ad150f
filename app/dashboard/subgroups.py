"""Groups nobody listed, on the page of a deployment: the newest scan, the candidates, and why there is nothing yet."""

from sqlalchemy.orm import Session

from ..scan.search import MIN_RECORDS
from ..store.subgroups.scans import newest_scan, subgroup_settings_of
from ..tracking.looking import DeploymentEvidence
from ..tracking.subgroups.looking import candidate_numbers_of, look_at_gravest, say_scan
from ..tracking.subgroups.requests import NIGHTLY_AT

MOST_CANDIDATES = 20
"""Max candidates on the page; the list in REST has all."""

NO_MONITOR = "A scan needs a fairness monitor, which says what outcomes are favourable. There is none."
NOTHING_COUNTED = (
    "A scan reads counted hours, and none has been counted for the present monitor and model revision yet. A worker counts each hour after"
    " its end."
)
COUNTING_STOPPED = "A scan reads counted hours, and none could be counted for the present monitor and model revision: {problem}."
NO_SCAN = "No scan has been requested yet."
EVERY_NIGHT = f"A scan is queued every night after {NIGHTLY_AT}:00 UTC."
NO_CANDIDATE = "No scan has found a candidate yet."
NO_WORKER = "No worker answers. A scan that waits begins when one is started, and one that was running is begun again."


def read_subgroups(session: Session, deployment_no: int, evidence: DeploymentEvidence | None) -> dict[str, object]:
    """Returns the newest scan, the newest one with a result if that is another, the candidates, and what a reader must know of scans."""
    newest, settings = newest_scan(session, deployment_no), subgroup_settings_of(session, deployment_no)
    ended = newest if newest is None or newest.state == "succeeded" else newest_scan(session, deployment_no, state="succeeded")
    numbers = candidate_numbers_of(session, [one for one in (newest, ended) if one is not None])
    found = look_at_gravest(session, deployment_no, limit=MOST_CANDIDATES + 1, names=None if evidence is None else evidence.monitor.names)

    obstacle, era = None, None if evidence is None else evidence.era
    if evidence is None:
        obstacle = NO_MONITOR
    elif era is not None and era.counted_until is None and era.problem is not None:
        obstacle = COUNTING_STOPPED.format(problem=era.problem.rstrip("."))
    elif era is None or era.counted_until is None:
        obstacle = NOTHING_COUNTED
    remarks = [*([] if obstacle is None else [obstacle]), *([] if newest is not None else [NO_SCAN])]
    remarks += [EVERY_NIGHT] if settings.nightly and evidence is not None else []
    remarks += [NO_CANDIDATE] if ended is not None and not found else []
    return {
        "scan": newest,
        "scan_words": None if newest is None else say_scan(newest, numbers),
        "ended_scan": ended,
        "ended_scan_words": None if ended is None else say_scan(ended, numbers),
        "can_scan": obstacle is None,
        "scan_direction": settings.direction,
        "scan_remarks": remarks,
        "no_worker_scans": NO_WORKER,
        "candidates": found[:MOST_CANDIDATES],
        "has_more_candidates": len(found) > MOST_CANDIDATES,
        "min_shown": MIN_RECORDS,
    }
