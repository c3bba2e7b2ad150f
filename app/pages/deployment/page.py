"""Fairness of one deployment."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.gate.caller import NowIn, SessionIn
from ...alerts.queries import present_alerts
from ...base.frozen import frozen_by_name
from ...charts.forest import STRIP_CHECKS, Forest, build_forest, choose_metric
from ...charts.named_groups import rename_gap
from ...charts.time_ranges import RangeChoice
from ...charts.timeline import choose_range
from ...checks.advice.advice import Cause, advice_on_check
from ...checks.days.roll_up import Period
from ...checks.result_queries import RecentFigures, recent_figures
from ...checks.schedule.words import choose_notice
from ...checks.views.view_source import notes_of_check, read_present
from ...deployments.deployment_in_address import Watched
from ...deployments.monitor.both_sides import missing_sides
from ...deployments.queries import WatchedDeployment
from ...domain.alert import AlertKind
from ...domain.monitor import Monitor, MonitoredAttribute, list_comparisons
from ...domain.paging import Paging
from ...evidence.attribution.attribution import AttributionRun
from ...evidence.attribution.queries import newest_of_gaps
from ...evidence.present_state import DeploymentEvidence, look_at_era, rename_state
from ...evidence.queries.eras import FollowedDeployment
from ...evidence.subgroups.present_candidates import read_result, say_scan
from ...evidence.subgroups.scan_queries import SubgroupScan, read_scans
from ...evidence.subgroups.watch_group import choose_name, find_watched, watching_problem
from ...evidence.words import describe_evidence, name_figure, order_by_gravity, say_limit
from ...overview.fleet import look_at_deployment
from ...statistics.scan.scan_results import SearchResult
from ...statistics.scan.search_subgroup import MAX_FEATURES, MIN_RECORDS
from .. import check_words
from ..author_names import people
from ..check_words import format_measurement
from ..overview_page import STATES
from ..prepare_reports import OFFERS_REPORTS
from ..range_bar import KEEPS_RANGE, build_bar, find_kept_range
from ..render import page
from .forest_rows import live_alerts, show_forest
from .over_time import ChosenCharts, read_over_time

MOST_SCANS = 20
"""Max scans whose groups are on the page."""

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


@frozen_by_name
class _ShownGroup:
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
    scans = read_scans(session, deployment.no, Paging(MOST_SCANS))
    newest = next(iter(scans), None)
    ended = next((scan for scan in scans if scan.state == "succeeded"), None)
    if evidence is None:
        obstacle = NO_MONITOR
    elif evidence.era.counted_until is None:
        problem = evidence.era.problem
        obstacle = (
            NOTHING_COUNTED if problem is None else COUNTING_STOPPED.format(problem=problem.rstrip("."))
        )
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


router = APIRouter(include_in_schema=False)


ROLLUPS = {
    "": "each check",
    Period.DAY.value: "by day",
    Period.WEEK.value: "by week",
    Period.MONTH.value: "by month",
}


CONFIGURED = frozenset(
    {
        Cause.NO_MONITOR,
        Cause.NO_RECORDS,
        Cause.NOT_SCHEDULED,
        Cause.TOO_FEW_RECORDS,
        Cause.SCORING_FAILED,
        Cause.INVALID_INPUT,
        Cause.ALL_UNCLASSIFIED,
        Cause.GROUP_WITHOUT_RECORDS,
        Cause.GROUP_TOO_SMALL,
        Cause.REFERENCE_NEVER_FAVOURABLE,
        Cause.NO_LIMITS,
    }
)
"""Causes whose next step is on Configure."""


_WORDING = {
    "limit_of": say_limit,
    "number_of": format_measurement,
    "words": check_words,
    "rollups": ROLLUPS,
    "states": STATES,
}
"""Names that the template uses."""


@router.get("/deployments/{deployment_id}", dependencies=[KEEPS_RANGE, OFFERS_REPORTS])
def fairness_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    now: NowIn,
    chosen: Annotated[ChosenCharts, Query()],
) -> Response:
    """Each thing is read once: a test counts the statements."""
    deployment = watched.deployment
    monitor = watched.monitor
    status = look_at_deployment(session, deployment.no, now=now)
    measured = status.measured
    success = status.entry.success
    choice = find_kept_range(request) or RangeChoice()
    shown = choose_range(choice, oldest=status.entry.first_start, now=now)
    checks = read_present(session, deployment.no, None if success is None else success.no)
    evidence = None
    if monitor is not None:
        evidence = look_at_era(session, FollowedDeployment.of(deployment), monitor)
    alerts = present_alerts(session, deployment.no, opened_in=shown.span)
    attributions = newest_of_gaps(session, deployment.no)

    metric = chosen.metric if "metric" in chosen.model_fields_set else choose_metric(measured)
    recent = RecentFigures((), ())
    if success is not None:
        recent = recent_figures(session, deployment.no, metric, most=STRIP_CHECKS, until=success.at)
    forest = build_forest(recent, measured, monitor=monitor, evidence=evidence, metric=metric, now=now)

    live = live_alerts(alerts)
    busy = checks.under_way
    newest = checks.newest
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "state": status.state,
        "worker_notice": choose_notice(status.outlook.workers),
        "newest": newest and newest.check,
        "missing_records": () if newest is None else notes_of_check(session, newest, forest.attribute),
        **show_forest(forest, chosen, live, attributions.done),
        "compared": [] if evidence is None else order_by_gravity(evidence.comparisons),
        "evidence_in_short": [] if evidence is None else describe_evidence(evidence),
        **_WORDING,
        "figure_of": lambda state: name_figure(rename_state(forest.words, state)),
        "missing": missing_sides(monitor),
        "names": people(
            session, [*(alert.acknowledged_by for alert in live), None if busy is None else busy.created_by]
        ),
        "some_group": [alert for alert in live if alert.kind is AlertKind.SOME_GROUP],
        "busy": busy,
        "busy_advice": busy and advice_on_check(busy, replace(status.outlook, under_way=busy.state)),
        "configured": CONFIGURED,
        **show_attributed(forest, attributions.done),
        "attributing": attributions.newest,
        "comparisons": [] if monitor is None else list_comparisons(monitor),
        **read_subgroups(session, watched, evidence),
        **read_over_time(session, watched, chosen, choice, shown.span, measured, alerts),
        "bar": build_bar(request, choice, shown.span, usual=shown.usual, compares=True),
        "chosen": chosen,
        "now": now,
    }
    return page(request, "fairness.html", values)


def show_attributed(forest: Forest, attributed: AttributionRun | None) -> dict[str, object]:
    gaps = () if attributed is None or attributed.result is None else attributed.result.gaps
    return {
        "attributed": attributed,
        "attributed_gaps": [rename_gap(forest.words, gap) for gap in gaps],
        "group_names": [
            {"attribute": row.attribute, "group": row.group, "name": row.name} for row in forest.rows
        ],
    }
