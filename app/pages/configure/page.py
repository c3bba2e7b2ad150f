"""Page Configure. Scripts send its forms to REST v1."""

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.gate.caller import SHOWS_RECORDS, SessionIn
from ...alerts.channels.channel import ChannelKind, page_channels
from ...alerts.channels.notification_queries import list_named_channels
from ...base.errors import NotFound
from ...base.values import GroupValue, Range, canonical
from ...calls.pinned_transport import CertificateFacts, describe_certificates
from ...checks.queries import find_under_way
from ...deployments.deployment_in_address import Watched
from ...deployments.mitigation_queries import read_mitigation_settings
from ...deployments.monitor.monitor_fit import list_monitor_warnings
from ...deployments.monitor.queries import find_missing_sides
from ...deployments.queries import WatchedDeployment
from ...deployments.training.from_distributions import MIN_SHOWN_RECORDS, find_unclassified, merge_rare
from ...deployments.training.queries import find_training_summary
from ...domain.deployment import BreakerState, Deployment, FieldKind
from ...domain.mitigation import ONLY_DIRECT, DetectorUse, Mode
from ...domain.monitor import MAX_NIGHTLY_ROWS, Schedule, describe_outcome
from ...domain.paging import Paging
from ...evidence.plan import WantedDetection, plan_from_counts
from ...mitigation.profile_in_force import list_mitigated_attributes, list_unused_attributes
from ...sources.stored.newest_record import find_newest_record
from ...statistics.catalogue import CATALOGUE, DEFAULT_METRICS
from ..alerts.page import MAX_CHANNELS
from ..range_bar import KEEPS_RANGE
from ..record.files_page import list_tables
from ..render import show_page
from .steps import ConfigurePart, StepName, find_next_step, find_step_after, list_form_values, list_steps

router = APIRouter(prefix="/deployments/{deployment_id}", include_in_schema=False, dependencies=[KEEPS_RANGE])

PARTS_OF_PAGE = [part for part in ConfigurePart if part is not ConfigurePart.CHECK]

MODES = {
    Mode.LIFT_ONLY: "lift only: a monitored record becomes favourable where it would be with a reference "
    "value; nothing is lowered",
    Mode.REFERENCE_SUBSTITUTION: "reference substitution: a monitored record gets the outcome it would have "
    "with a reference value",
}

DETECTORS = {
    DetectorUse.OFF: "off",
    DetectorUse.MARK: "mark: checks train it, and it marks records",
    DetectorUse.CHOOSE: "choose: it also chooses the live records for which the model is asked again",
}

BREAKERS = {
    BreakerState.CLOSED: "Checks ask it.",
    BreakerState.OPEN: "Checks do not ask it for a few minutes; a check that somebody starts tries it at "
    "once.",
    BreakerState.HALF_OPEN: "The next check tries it with one record first.",
}


@router.get("/configure", dependencies=[SHOWS_RECORDS])
def show_configure_page(
    request: Request, watched: Watched, session: SessionIn, step: StepName | None = None
) -> Response:
    """Shows the chosen or the next step; after the first check, the list of parts."""
    values = _read_values(session, watched)
    named_steps = (candidate for candidate in values["steps"] if candidate.name is step)
    chosen_step = next(named_steps, None) or find_next_step(values["steps"])
    parts = () if chosen_step is None else chosen_step.parts
    return show_page(
        request,
        "configure.html",
        values
        | {
            "step": chosen_step,
            "after": find_step_after(values["steps"], chosen_step),
            "part": None,
            "shown": [member.value for member in parts],
        },
    )


@router.get("/configure/{part}", dependencies=[SHOWS_RECORDS])
def show_configure_part_page(request: Request, watched: Watched, session: SessionIn, part: str) -> Response:
    chosen = next((candidate for candidate in PARTS_OF_PAGE if candidate.value == part), None)
    if chosen is None:
        raise NotFound("part of Configure", part)
    values = _read_values(session, watched)
    return show_page(
        request, "configure.html", values | {"step": None, "part": chosen, "shown": [chosen.value]}
    )


def _read_values(session: Session, watched: WatchedDeployment) -> dict[str, Any]:
    deployment = watched.deployment
    monitor = watched.monitor
    training = find_training_summary(session, deployment.no)
    settings = read_mitigation_settings(session, deployment.no)
    newest = find_newest_record(session, deployment.no)
    has_records = newest is not None
    busy = find_under_way(session, deployment.no)
    values = {
        "deployment": deployment,
        "tables": list_tables(session, deployment),
        "monitor": monitor,
        "warnings": [] if monitor is None else list_monitor_warnings(session, deployment, monitor),
        "missing": find_missing_sides(monitor),
        "training": training,
        "labels": None if training is None else merge_rare(training.labels),
        "unclassified": None
        if training is None or monitor is None
        else find_unclassified(training.labels, monitor.outcomes, min_records=MIN_SHOWN_RECORDS),
        "steps": list_steps(session, deployment, monitor, has_records=has_records),
        "parts_of_page": PARTS_OF_PAGE,
        "newest": newest,
        "has_records": has_records,
        "busy": busy,
        "text": write_group,
        "outcome_text": write_outcome,
        "titles": {key: metric.title for key, metric in CATALOGUE.items()},
        "plan": None
        if monitor is None
        else plan_from_counts(session, deployment.no, monitor, WantedDetection(ratio=0.7, chance=0.9)),
        "usual": DEFAULT_METRICS,
        "max_nightly_rows": MAX_NIGHTLY_ROWS,
        "schedules": [
            schedule
            for schedule in Schedule
            if schedule in {Schedule.HOURLY, Schedule.OFF} or deployment.payload is not None
        ],
        "numeric": FieldKind.NUMERIC,
        "breakers": BREAKERS,
        "certificates": _describe_certificates(deployment),
        "mitigation": settings,
        "only_direct": ONLY_DIRECT,
        "mitigated": () if monitor is None else list_mitigated_attributes(settings, monitor),
        "unused": list_unused_attributes(settings, monitor),
        "modes": MODES,
        "detectors": DETECTORS,
        "channels": page_channels(session, Paging(MAX_CHANNELS)),
        "kinds": list(ChannelKind),
        "named": list_named_channels(session, deployment.no),
    }
    return values | list_form_values()


def _describe_certificates(deployment: Deployment) -> dict[str, CertificateFacts]:
    tls = deployment.endpoint.tls if deployment.endpoint else None
    certificates = {} if tls is None else {"authority": tls.authority, "shows": tls.certificate}
    facts_by_title = {title: describe_certificates(pem) for title, pem in certificates.items()}
    return {title: facts for title, facts in facts_by_title.items() if facts is not None}


def write_outcome(value: GroupValue) -> str:
    """Writes an outcome for people: the text "1" in quotes, the number 1 without."""
    return write_group(value) if isinstance(value, Range) else describe_outcome(value)


def write_group(value: GroupValue | None) -> str:
    if value is None:
        return "missing"
    return f"{canonical(value.lo)} to {canonical(value.hi)}" if isinstance(value, Range) else canonical(value)
