"""Groups nobody listed, on the page of a deployment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from ..domain.deployments import Deployment
from ..domain.monitors import Monitor, MonitoredAttribute
from ..scan.cells import MAX_FEATURES
from ..scan.results import SearchResult
from ..scan.search import MIN_RECORDS
from ..store.subgroups.scans import SubgroupScan, scans_of
from ..tracking.looking import DeploymentEvidence
from ..tracking.subgroups.looking import read_result, say_scan
from ..tracking.subgroups.watching import choose_name, find_watched, watching_problem

MOST_SCANS = 20
"""Max scans whose groups are on the page."""

NO_MONITOR = "A scan needs a fairness monitor, which says what outcomes are favourable. There is none."
NOTHING_COUNTED = (
    "A scan reads counted hours, and none has been counted for the present monitor and model revision yet. A worker counts each hour after"
    " its end."
)
COUNTING_STOPPED = "A scan reads counted hours, and none could be counted for the present monitor and model revision: {problem}."
NO_SCAN = "No scan has been requested yet."
NO_WORKER = "No worker answers. A scan that waits begins when one is started, and one that was running is begun again."


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownGroup:
    scan: SubgroupScan
    result: SearchResult
    watched: MonitoredAttribute | None
    name: str
    problem: str | None


def read_subgroups(session: Session, deployment: Deployment, evidence: DeploymentEvidence | None) -> dict[str, object]:
    scans = scans_of(session, deployment.no, before_no=None, limit=MOST_SCANS)
    newest, ended = next(iter(scans), None), next((scan for scan in scans if scan.state == "succeeded"), None)
    obstacle, monitor, era = None, None if evidence is None else evidence.monitor, None if evidence is None else evidence.era
    if monitor is None:
        obstacle = NO_MONITOR
    elif era is not None and era.counted_until is None and era.problem is not None:
        obstacle = COUNTING_STOPPED.format(problem=era.problem.rstrip("."))
    elif era is None or era.counted_until is None:
        obstacle = NOTHING_COUNTED
    person = None if monitor is None else monitor.evidence.person
    return {
        "scan": newest,
        "scan_words": None if newest is None else say_scan(newest),
        "ended_scan": ended,
        "ended_scan_words": None if ended is None else say_scan(ended),
        "can_scan": obstacle is None,
        "scan_remarks": [*([] if obstacle is None else [obstacle]), *([] if newest is not None else [NO_SCAN])],
        "no_worker_scans": NO_WORKER,
        "scannable": [column.name for column in (*deployment.schema.features, *deployment.schema.meta) if column.name != person],
        "max_scanned": MAX_FEATURES,
        "found_groups": [] if monitor is None else list(_list_groups(scans, monitor)),
        "min_shown": MIN_RECORDS,
    }


def _list_groups(scans: Sequence[SubgroupScan], monitor: Monitor) -> Iterator[_ShownGroup]:
    """Each group once, by the newest scan that found it."""
    listed = set()
    for scan in scans:
        result = read_result(scan)
        if result is None or result.group is None or result.group.rule in listed:
            continue
        rule = result.group.rule
        listed.add(rule)
        yield _ShownGroup(
            scan=scan,
            result=result,
            watched=find_watched(monitor, rule),
            name=choose_name(monitor, rule),
            problem=watching_problem(rule),
        )
