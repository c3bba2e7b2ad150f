"""Routes of subgroups that nobody listed: scans, their candidates, and the settings of scans."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from ..errors import Conflict, NotFound
from ..evidence.nulls import UnfairSide
from ..store.checks.checks import current_time
from ..store.deployments.monitors import monitor_of
from ..store.people.activities import record_activity
from ..store.subgroups.scans import get_scan, put_subgroup_settings, scans_of, subgroup_settings_of
from ..tracking.subgroups.looking import candidate_numbers_of, look_at_candidates
from ..tracking.subgroups.requests import request_scan, require_features, require_limit
from ..web.access import NEEDS_LOGGED, LockedDeployment, Manager, ReadableDeployment, SessionIn
from ..web.paging import Limit, cut, read_number_cursor, read_short_number_cursor
from .answers import Answers, answers, problems_of_deployment, problems_with_body
from .schemas.subgroups import (
    SubgroupCandidateOut,
    SubgroupCandidatePage,
    SubgroupScanIn,
    SubgroupScanOut,
    SubgroupScanPage,
    SubgroupSettingsIn,
    SubgroupSettingsOut,
)

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}",
    tags=["evidence"],
    dependencies=[NEEDS_LOGGED],
    responses=answers(Conflict),
)

ScanId = Annotated[
    str,
    Path(
        description="The scan's id.",
        pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        examples=["6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e"],
    ),
]

_QUEUED: Answers = {
    202: {
        "description": "Queued; read its address until it ends",
        "headers": {"Location": {"description": "The scan's address.", "schema": {"type": "string"}}},
    }
}


@router.post(
    "/subgroup-scans", status_code=202, operation_id="requestSubgroupScan", responses=_QUEUED | problems_with_body(NotFound, Conflict)
)
def request_subgroup_scan(
    deployment: LockedDeployment, session: SessionIn, principal: Manager, response: Response, body: SubgroupScanIn | None = None
) -> SubgroupScanOut:
    """Looks for the subgroup whose favourable rate falls short most, among all combinations of values of up to eight features.

    A subgroup that chance alone would find in at most 5 % of scans becomes a candidate. Only later hours can confirm it. While a scan of
    the deployment waits or runs, asking again returns that one. Needs a fairness monitor (409).
    """
    sent = body or SubgroupScanIn()
    settings = sent.to_settings(subgroup_settings_of(session, deployment.no))
    require_features(session, deployment.no, deployment.schema, settings.features)
    require_limit(UnfairSide(settings.direction), settings.limit)
    scan = request_scan(session, deployment.no, settings, hours=sent.hours, requested_by=principal.actor)
    if scan.created_at == current_time(session):  # a scan that was open already was requested before
        record_activity(session, principal.actor, "subgroup_scan.requested", deployment=deployment, subject=scan.id)
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/subgroup-scans/{scan.id}"
    return SubgroupScanOut.of(scan, {})


@router.get("/subgroup-scans", operation_id="listSubgroupScans", responses=problems_of_deployment())
def list_subgroup_scans(
    deployment: ReadableDeployment, session: SessionIn, before_no: Annotated[int, Depends(read_number_cursor)], limit: Limit = 100
) -> SubgroupScanPage:
    """Returns the deployment's scans, newest first, each with the number of subgroups that it searched."""
    scans, next_cursor = cut(scans_of(session, deployment.no, before_no=before_no or None, limit=limit + 1), limit, lambda one: one.no)
    numbers = candidate_numbers_of(session, scans)
    return SubgroupScanPage(scans=[SubgroupScanOut.of(one, numbers) for one in scans], next_cursor=next_cursor)


@router.get("/subgroup-scans/{scan_id}", operation_id="readSubgroupScan", responses=problems_of_deployment())
def read_subgroup_scan(deployment: ReadableDeployment, session: SessionIn, scan_id: ScanId) -> SubgroupScanOut:
    """Returns one scan: its state, what it searched, and the candidate it found."""
    scan = get_scan(session, deployment.no, scan_id)
    return SubgroupScanOut.of(scan, candidate_numbers_of(session, [scan]))


@router.get("/subgroup-candidates", operation_id="listSubgroupCandidates", responses=problems_of_deployment())
def list_subgroup_candidates(
    deployment: ReadableDeployment, session: SessionIn, after_number: Annotated[int, Depends(read_short_number_cursor)], limit: Limit = 100
) -> SubgroupCandidatePage:
    """Returns the subgroups that scans found, by number: candidates, confirmed and expired ones.

    The chance of ever confirming one that is inside the limit in every later hour is at most 5 % over all candidates of the deployment.
    """
    monitor = monitor_of(session, deployment.no)
    names = None if monitor is None else monitor.names
    found = look_at_candidates(session, deployment.no, after_number=after_number, limit=limit + 1, names=names)
    page, next_cursor = cut(found, limit, lambda one: one.number)
    return SubgroupCandidatePage(candidates=[SubgroupCandidateOut.of(one) for one in page], next_cursor=next_cursor)


@router.get("/subgroup-scan-settings", operation_id="readSubgroupScanSettings", responses=problems_of_deployment())
def read_subgroup_scan_settings(deployment: ReadableDeployment, session: SessionIn) -> SubgroupSettingsOut:
    """Returns the settings of the deployment's scans."""
    return SubgroupSettingsOut.of(subgroup_settings_of(session, deployment.no))


@router.put("/subgroup-scan-settings", operation_id="putSubgroupScanSettings", responses=problems_with_body(NotFound))
def put_subgroup_scan_settings(
    body: SubgroupSettingsIn, deployment: LockedDeployment, session: SessionIn, principal: Manager
) -> SubgroupSettingsOut:
    """Sets whether the deployment is scanned every night, and by which features."""
    before, settings = subgroup_settings_of(session, deployment.no), body.to_settings()
    require_features(session, deployment.no, deployment.schema, settings.features)
    require_limit(body.direction, settings.limit)
    if settings != before:
        put_subgroup_settings(session, deployment.no, settings)
        record_activity(session, principal.actor, "subgroup_scan_settings.changed", deployment=deployment)
    return SubgroupSettingsOut.of(settings)
