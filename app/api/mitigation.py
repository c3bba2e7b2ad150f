"""Routes of a deployment's mitigation: its settings, and the profiles of what was learnt for it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from app.api.answers import Answers, problems_of_deployment, problems_with_body
from app.api.changes import settings_changes
from app.api.schemas.mitigation import MitigationIn, MitigationOut
from app.api.schemas.mitigation_profiles import ProfileOut, ProfilePage
from app.domain.deployments import Deployment
from app.domain.mitigation_rules import mitigation_problems
from app.domain.monitors import Monitor
from app.errors import Conflict, InvalidInput, NotFound
from app.mitigation.profiles import fit_anew, stored_profile
from app.store.activities import record_activity
from app.store.deployments import Deployments
from app.store.mitigation import profiles_of, put_settings, settings_of
from app.store.monitors import monitor_of
from app.web.access import (
    DeploymentId,
    LockedDeployment,
    Manager,
    NowIn,
    ReadableDeployment,
    ServicesIn,
    SessionIn,
    managed,
    turn,
)
from app.web.paging import Limit, cut, number_behind

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["mitigation"])

ProfileVersion = Annotated[int, Path(ge=1, lt=2**31 - 1, description="The profile's version.")]

_FITTED: Answers = {
    201: {
        "description": "Fitted and stored",
        "headers": {"Location": {"description": "The profile's address.", "schema": {"type": "string"}}},
    }
}


@router.get("/mitigation", operation_id="readMitigation", responses=problems_of_deployment())
def read_mitigation(deployment: ReadableDeployment, session: SessionIn) -> MitigationOut:
    """The settings, or the defaults (version 0) where none were set, and which attributes they come to."""
    return MitigationOut.of(settings_of(session, deployment.no), monitor_of(session, deployment.no))


@router.put("/mitigation", operation_id="putMitigation", responses=problems_with_body(NotFound, Conflict))
def put_mitigation(body: MitigationIn, deployment: LockedDeployment, session: SessionIn, principal: Manager) -> MitigationOut:
    """Sets how outcomes are mitigated. The same content again changes nothing; other content makes the next version.

    Needs a fairness monitor (409), whose attributes they are. If the monitor is changed later, the settings stay and apply to what is
    left: see `mitigated_attributes`, `unused_attributes` and `attributes_without_goal`.
    """
    monitor = _required_monitor(monitor_of(session, deployment.no), deployment)
    settings = body.to_domain()
    found = mitigation_problems(settings, monitor, deployment.problem_type)
    if found:
        raise InvalidInput(found)
    before = settings_of(session, deployment.no)
    after = put_settings(session, deployment.no, settings)
    if after != before:
        record_activity(session, principal.actor, "mitigation.changed", deployment=deployment, details=settings_changes(before, after))
    return MitigationOut.of(after, monitor)


@router.get("/mitigation-profiles", operation_id="listMitigationProfiles", responses=problems_of_deployment())
def list_mitigation_profiles(
    deployment: ReadableDeployment,
    session: SessionIn,
    before_version: Annotated[int, Depends(number_behind)],
    limit: Limit = 100,
) -> ProfilePage:
    """What was learnt from payload for mitigation, newest version first."""
    found = profiles_of(session, deployment.no, before_version=min(before_version, 2**31 - 1) or None, limit=limit + 1)
    profiles, next_cursor = cut(found, limit, lambda profile: profile.version)
    used = _version_in_use(session, deployment)
    return ProfilePage(profiles=[ProfileOut.of(one, in_use=one.version == used) for one in profiles], next_cursor=next_cursor)


@router.post(
    "/mitigation-profiles",
    status_code=201,
    operation_id="fitMitigationProfile",
    responses=_FITTED | problems_of_deployment(Conflict),
)
def fit_mitigation_profile(
    principal: Manager,
    services: ServicesIn,
    deployment_id: DeploymentId,
    now: NowIn,
    response: Response,
    _turn: Annotated[None, Depends(turn, scope="function")],
) -> ProfileOut:
    """Learns a further version from the newest payload, at most the monitor's `max_records`. Needs a fairness monitor (409).

    Debiased answers and checks rest on it from then on. Reads predictions and groups, never labels.
    """
    with services.database.transaction() as session:
        deployment = managed(principal, Deployments(session, services.secret_box), deployment_id)
        monitor = _required_monitor(monitor_of(session, deployment.no), deployment)
        settings = settings_of(session, deployment.no)
    profile = fit_anew(services.database, deployment, monitor, settings, actor=principal.actor, now=now)
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/mitigation-profiles/{profile.version}"
    return ProfileOut.of(profile, in_use=True)


@router.get("/mitigation-profiles/{version}", operation_id="readMitigationProfile", responses=problems_of_deployment())
def read_mitigation_profile(deployment: ReadableDeployment, version: ProfileVersion, session: SessionIn) -> ProfileOut:
    """One version: whom copies stand for, how the model's probability is read, its cut-off, and parity's thresholds."""
    found = [one for one in profiles_of(session, deployment.no, before_version=version + 1, limit=1) if one.version == version]
    if not found:
        raise NotFound("mitigation profile", version)
    return ProfileOut.of(found[0], in_use=version == _version_in_use(session, deployment))


def _required_monitor(monitor: Monitor | None, deployment: Deployment) -> Monitor:
    if monitor is None:
        raise Conflict(f"Deployment {deployment.id} has no fairness monitor, which says whose outcomes are mitigated; put one first.")
    return monitor


def _version_in_use(session: SessionIn, deployment: Deployment) -> int | None:
    monitor = monitor_of(session, deployment.no)
    used = None if monitor is None else stored_profile(session, deployment, monitor, settings_of(session, deployment.no))
    return None if used is None else used.version
