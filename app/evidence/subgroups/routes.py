"""Routes of scans for subgroups that nobody listed."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Response

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import Manager, SessionIn
from ...base.errors import InvalidInput
from ...database.engine import current_time
from ...deployments.deployment_in_address import NEEDS_LOGGED, LockedDeployment, ReadableDeployment
from ...deployments.monitor.bodies import FoundGroupIn, MonitorOut
from ...deployments.monitor.queries import find_monitor
from ...deployments.monitor.routes import require_monitor, store_monitor
from ...domain.group_rules import FoundBy, GroupRule
from ...web.route_declarations import CONFLICT, NumberPaging, name_location, uuid_path
from .bodies import SubgroupScanIn, SubgroupScanOut, SubgroupScanPage
from .scan_queries import get_scan, queue_scan, read_scans
from .scan_request import check_scan
from .watch_group import read_found_group, watch_found_group

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}",
    tags=["evidence"],
    dependencies=[NEEDS_LOGGED],
    responses=CONFLICT,
)

monitor_router = APIRouter(
    prefix="/v1/deployments/{deployment_id}/fairness-monitor", tags=["fairness monitor"]
)

ScanId = Annotated[str, uuid_path("The scan's id.", "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e")]

_QUEUED = name_location(202, "Queued; read its address until it ends", "The scan's address.")


@router.post("/subgroup-scans", status_code=202, responses=_QUEUED)
def request_subgroup_scan(
    deployment: LockedDeployment,
    session: SessionIn,
    principal: Manager,
    response: Response,
    body: SubgroupScanIn | None = None,
) -> SubgroupScanOut:
    """Looks for the subgroup whose favourable rate falls short most, among all combinations of values of up
    to eight features.

    A group that chance alone would find in at most 5 % of scans is named. `POST
    …/fairness-monitor/found-groups` watches it from then on. While a scan of the deployment waits or runs,
    asking again returns that one. Needs a fairness monitor (409).
    """
    sent = body or SubgroupScanIn()
    check_scan(session, deployment.no, deployment.schema, sent.features)
    scan = queue_scan(
        session,
        deployment.no,
        features=sent.features,
        direction=sent.direction,
        hours=sent.hours,
        requested_by=principal.actor,
    )
    if scan.created_at == current_time(session):  # a scan that was open already was requested before
        record_activity(session, principal.actor, "subgroup_scan.requested", deployment, subject=scan.id)
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/subgroup-scans/{scan.id}"
    return SubgroupScanOut.of(scan, None)


@router.get("/subgroup-scans")
def list_subgroup_scans(
    deployment: ReadableDeployment, session: SessionIn, paging: NumberPaging
) -> SubgroupScanPage:
    """Returns the deployment's scans, newest first, each with the number of subgroups that it searched."""
    write = partial(SubgroupScanOut.of, monitor=find_monitor(session, deployment.no))
    return SubgroupScanPage.of(read_scans(session, deployment.no, paging), paging, write)


@router.get("/subgroup-scans/{scan_id}")
def read_subgroup_scan(
    deployment: ReadableDeployment, session: SessionIn, scan_id: ScanId
) -> SubgroupScanOut:
    """Returns one scan: its state, what it searched, and the group it found."""
    return SubgroupScanOut.of(get_scan(session, deployment.no, scan_id), find_monitor(session, deployment.no))


@monitor_router.post("/found-groups", operation_id="watchFoundGroup", responses=CONFLICT)
def watch_group(
    body: FoundGroupIn, deployment: LockedDeployment, session: SessionIn, principal: Manager
) -> MonitorOut:
    """Watches a group that was found from now on: it becomes an attribute of the monitor's next version.

    The group is that of a scan, or what a search of a file has found.
    Its evidence begins with the first whole hour after that. What is known of all other comparisons stays.
    The same group again changes nothing.
    """
    before = require_monitor(session, deployment)
    if (body.scan_id is None) is (body.search is None):
        raise InvalidInput("scan_id", "must be sent, or search in its place, and not both")
    if body.search is not None:
        rule = body.search.rule.read_as(GroupRule)
        found_by = body.search.read_as(FoundBy, scan_id=None)
    else:
        rule, found_by = read_found_group(get_scan(session, deployment.no, body.scan_id or ""))
    monitor = watch_found_group(before, rule, found_by, name=body.name)
    return store_monitor(session, principal, deployment, monitor, before=before)
