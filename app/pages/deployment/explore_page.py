"""Tab Explore: every metric over time, drivers of a gap, undeclared groups, and all comparisons."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.gate.caller import NowIn, SessionIn
from ...alerts.queries import read_present_alerts
from ...base.values import frozen_by_name
from ...charts.series import rename_gap
from ...charts.timeline import choose_range
from ...checks.days.roll_up import Period
from ...deployments.deployment_in_address import Watched
from ...deployments.queries import WatchedDeployment
from ...domain.groups import GroupWords
from ...domain.monitor import Monitor, MonitoredAttribute
from ...domain.paging import Paging
from ...evidence.attribution import words as attribution_words
from ...evidence.attribution.queries import find_newest_attributions
from ...evidence.present_state import DeploymentEvidence, read_era_evidence, rename_state
from ...evidence.queries.eras import FollowedDeployment
from ...evidence.subgroups.scan_queries import SubgroupScan, read_result, read_scans
from ...evidence.subgroups.scan_sentence import say_scan
from ...evidence.subgroups.watch_group import choose_name, find_watched, find_watching_problem
from ...evidence.words import list_figure_notes, list_figures, name_figure, say_limit
from ...overview.fleet import look_at_deployment
from ...statistics.scan.scan_results import SearchResult
from ...statistics.scan.search_subgroup import MAX_FEATURES, MIN_RECORDS
from ..range_bar import RangeIn, build_bar
from ..render import make_header, show_page
from .forest_rows import draw_drivers
from .over_time import ChosenCharts, read_over_time

MAX_SCANS = 20
"""Scans whose groups are on the page, the newest."""

NO_MONITOR = "A scan needs a fairness monitor, which says what outcomes are favourable. There is none."

NOTHING_COUNTED = (
    "A scan reads counted hours, and none has been counted for the present monitor and model revision yet. A "
    "worker counts each hour after its end."
)

COUNTING_STOPPED = (
    "A scan reads counted hours, and none could be counted for the present monitor and model "
    "revision: {problem}."
)

NO_SCAN = "No scan has been requested yet."

NO_WORKER = (
    "No worker answers. A scan that waits begins when one is started, and one that was running is "
    "begun again."
)

router = APIRouter(include_in_schema=False)

ROLLUPS = {
    "": "each check",
    Period.DAY.value: "by day",
    Period.WEEK.value: "by week",
    Period.MONTH.value: "by month",
}


@frozen_by_name
class _ScannedGroup:
    """Group that a scan found; `watched` is its attribute if it is watched, `problem` why it cannot be."""

    scan: SubgroupScan
    result: SearchResult
    watched: MonitoredAttribute | None
    name: str
    problem: str | None


def read_subgroups(
    session: Session, watched: WatchedDeployment, evidence: DeploymentEvidence | None
) -> dict[str, object]:
    deployment = watched.deployment
    monitor = watched.monitor
    obstacle = None
    scans = read_scans(session, deployment.no, Paging(MAX_SCANS))
    newest = next(iter(scans), None)
    ended = next((scan for scan in scans if scan.state == "succeeded"), None)
    if evidence is None:
        obstacle = NO_MONITOR
    elif evidence.era.counted_until is None:
        problem = evidence.era.problem
        obstacle = NOTHING_COUNTED
        if problem is not None:
            obstacle = COUNTING_STOPPED.format(problem=problem.rstrip("."))
    person = None if monitor is None else monitor.evidence.person
    return {
        "scan": newest,
        "scan_words": None if newest is None else say_scan(newest),
        "ended_scan": ended,
        "ended_scan_words": None if ended is None else say_scan(ended),
        "can_scan": obstacle is None,
        "scan_remarks": [remark for remark in (obstacle, NO_SCAN if newest is None else None) if remark],
        "no_worker_scans": NO_WORKER,
        "scannable": [
            column.name
            for column in (*deployment.schema.features, *deployment.schema.meta)
            if column.name != person
        ],
        "max_scanned": MAX_FEATURES,
        "found_groups": [] if monitor is None else list(_list_groups(scans, monitor)),
        "min_shown": MIN_RECORDS,
    }


def _list_groups(scans: Sequence[SubgroupScan], monitor: Monitor) -> Iterator[_ScannedGroup]:
    """Yields each group once, from the newest scan that found it."""
    listed_rules = set()
    for scan in scans:
        result = read_result(scan)
        if result is None or result.group is None or result.group.rule in listed_rules:
            continue
        rule = result.group.rule
        listed_rules.add(rule)
        yield _ScannedGroup(
            scan=scan,
            result=result,
            watched=find_watched(monitor, rule),
            name=choose_name(monitor, rule),
            problem=find_watching_problem(rule),
        )


@router.get("/deployments/{deployment_id}/explore")
def show_explore_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    now: NowIn,
    choice: RangeIn,
    chosen: Annotated[ChosenCharts, Query()],
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    status = look_at_deployment(session, deployment.no, now=now)
    chosen_range = choose_range(choice, oldest=status.entry.first_start, now=now)
    evidence = None
    if monitor is not None:
        evidence = read_era_evidence(session, FollowedDeployment.of(deployment), monitor)
    alerts = read_present_alerts(session, deployment.no, opened_in=chosen_range.span)
    attributions = find_newest_attributions(session, deployment.no)
    names = GroupWords.of(monitor)
    comparisons = [] if evidence is None else evidence.comparisons
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "header": make_header(status, now),
        "worker_notice": status.worker_notice,
        "newest": status.entry.success,
        "compared": [
            (figure, ", ".join(say_limit(side) for side in comparisons if side.key == figure.key))
            for figure in list_figures(comparisons)
        ],
        "notes_of": list_figure_notes,
        "rollups": ROLLUPS,
        "figure_of": lambda state: name_figure(rename_state(names, state)),
        "attributions": attributions,
        "rename_gap": partial(rename_gap, names),
        "attribution_words": attribution_words,
        "draw_drivers": draw_drivers,
        **read_subgroups(session, watched, evidence),
        **read_over_time(
            session,
            watched,
            chosen,
            choice,
            chosen_range.span,
            measured=status.measured,
            alerts=alerts,
            comparisons=comparisons,
        ),
        "bar": build_bar(request, choice, chosen_range.span, usual=chosen_range.usual, compares=True),
        "chosen": chosen,
    }
    return show_page(request, "explore.html", values)
