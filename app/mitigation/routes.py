"""Routes of a deployment's mitigation: its settings, profiles and bias detectors."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from sqlalchemy.orm import Session

from ..access.audit.activity_queries import changes_between, record_activity
from ..access.gate.caller import DeploymentId, Manager, NowIn, ServicesIn, SessionIn, hold_turn
from ..base.errors import Conflict, FieldProblem, refuse
from ..deployments.deployment_in_address import (
    NEEDS_LOGGED,
    LockedDeployment,
    ReadableDeployment,
    get_managed,
)
from ..deployments.mitigation_queries import (
    page_detectors,
    read_mitigation_settings,
    require_profile,
    store_mitigation_settings,
)
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import Deployments
from ..domain.deployment import Deployment
from ..domain.mitigation import DetectorUse, MitigationSettings
from ..domain.monitor import Monitor
from ..web.route_declarations import CONFLICT, ShortNumberPaging, cut, name_location
from .bodies import BiasDetectorPage, MitigationIn, MitigationOut, ProfileOut, TrainingOut
from .detector.installed import explain_missing_packages
from .profile_in_force import find_mitigation_problems, fit_next_profile

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["mitigation"])

ProfileVersion = Annotated[int, Path(ge=1, lt=2**31 - 1, description="The profile's version.")]

_FITTED = name_location(201, "Fitted and stored", "The profile's address.")


@router.get("/mitigation")
def read_mitigation(deployment: ReadableDeployment, session: SessionIn) -> MitigationOut:
    """Returns the settings, or the defaults (version 0) where none were set, and the attributes they apply
    to.
    """
    return MitigationOut.of(
        read_mitigation_settings(session, deployment.no), find_monitor(session, deployment.no)
    )


@router.put("/mitigation", dependencies=[NEEDS_LOGGED], responses=CONFLICT)
def put_mitigation(
    body: MitigationIn, deployment: LockedDeployment, session: SessionIn, principal: Manager
) -> MitigationOut:
    """Sets how outcomes are mitigated. The same content again changes nothing; other content makes the next
    version.

    Needs a fairness monitor (409) that has the attributes. If the monitor is changed later, the settings
    stay and apply to the attributes that are left: see `mitigated_attributes` and `unused_attributes`.
    """
    monitor = _require_monitor(session, deployment)
    settings = body.read_as(MitigationSettings)
    problems = find_mitigation_problems(settings, monitor)
    if settings.bias_detector is not DetectorUse.OFF and (reason := explain_missing_packages()) is not None:
        problems.append(FieldProblem("bias_detector", f"must be off: {reason}"))
    refuse(problems)
    before = read_mitigation_settings(session, deployment.no)
    after = store_mitigation_settings(session, deployment.no, settings)
    if after != before:
        old, new = ({"version": settings.version} | asdict(settings) for settings in (before, after))
        record_activity(
            session, principal.actor, "mitigation.changed", deployment, details=changes_between(old, new)
        )
    return MitigationOut.of(after, monitor)


@router.post(
    "/mitigation-profiles", status_code=201, dependencies=[NEEDS_LOGGED], responses=_FITTED | CONFLICT
)
def fit_mitigation_profile(
    principal: Manager,
    services: ServicesIn,
    deployment_id: DeploymentId,
    now: NowIn,
    response: Response,
    _turn: Annotated[None, Depends(hold_turn, scope="function")],
) -> ProfileOut:
    """Fits a further version to the newest payload, at most the monitor's `max_records`. Needs a fairness
    monitor (409).

    Mitigated answers and checks use it from then on. It reads predictions and groups, never labels.
    """
    # Over before the fit, which takes seconds and needs its own connection.
    with services.database.transaction() as session:
        deployment = get_managed(principal, Deployments(session, services.secret_box), deployment_id)
        monitor = _require_monitor(session, deployment)
        settings = read_mitigation_settings(session, deployment.no)
    profile = fit_next_profile(
        services.database, deployment, monitor, settings, actor=principal.actor, now=now
    )
    response.headers["Location"] = f"/v1/deployments/{deployment.id}/mitigation-profiles/{profile.version}"
    return ProfileOut.from_object(profile)


@router.get("/mitigation-profiles/{version}")
def read_mitigation_profile(
    deployment: ReadableDeployment, version: ProfileVersion, session: SessionIn
) -> ProfileOut:
    """Returns the version that a mitigated answer or a check names: its copies, the reading of the
    probability, the cut-off.
    """
    return ProfileOut.from_object(require_profile(session, deployment.no, version))


def _require_monitor(session: Session, deployment: Deployment) -> Monitor:
    monitor = find_monitor(session, deployment.no)
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor, which says which groups are mitigated; "
            "set one first."
        )
    return monitor


@router.get("/bias-detectors")
def list_bias_detectors(
    deployment: ReadableDeployment, session: SessionIn, paging: ShortNumberPaging
) -> BiasDetectorPage:
    """Returns the trainings of the deployment's bias detector, newest first, with the quality of each on the
    records held out.

    Empty while the detector is off, which is the default. A training that is refused says why.
    """
    fetched = page_detectors(session, deployment.no, paging)
    trainings, next_cursor = cut(fetched, paging, lambda training: training[0].version)
    return BiasDetectorPage(
        trainings=[TrainingOut.of(training) for training in trainings], next_cursor=next_cursor
    )
