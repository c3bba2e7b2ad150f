"""Configure page: the deployment, its monitor, its training data, its mitigation and the logging of its records.

The page says what is stored. A person who may change it gets forms, which scripts fill from REST v1 and send there.
"""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ..checks.sides import missing_sides
from ..domain.deployments import Deployment, FieldKind
from ..domain.endpoint_health import BreakerState
from ..domain.mitigation import DetectorUse, Mode
from ..domain.mitigation_rules import attributes_without_goal, mitigated_attributes, notes_of, unused_attributes
from ..domain.monitors import MAX_NIGHTLY_ROWS, Monitor, Schedule
from ..domain.outcomes import outcome_label
from ..domain.training_data import TrainingSummary
from ..domain.values import GroupValue, Range, canonical
from ..metrics.catalogue import CATALOGUE, DEFAULT_METRICS
from ..outbound.certificates import CertificateFacts, describe_certificates
from ..scan.cells import MAX_FEATURES
from ..store.deployments.monitors import monitor_of
from ..store.mitigation.mitigation import settings_of
from ..store.records.newest import newest_record
from ..store.subgroups.scans import subgroup_settings_of
from ..store.training.training_data import training_summary_of
from ..tracking.planning import WantedDetection, plan_from_counts
from ..tracking.subgroups.requests import NIGHTLY_AT
from ..training.unclassified import find_unclassified
from ..views.monitor_warnings import monitor_warnings
from ..web.access import NowIn, ReadableDeployment, SessionIn
from .registering import form_values
from .rendering import page

router = APIRouter(prefix="/deployments/{deployment_id}", include_in_schema=False)

MODES = {
    Mode.LIFT_ONLY: "lift only: a monitored record becomes favourable where it would be with a reference value; nothing is lowered",
    Mode.REFERENCE_SUBSTITUTION: "reference substitution: a monitored record gets the outcome it would have with a reference value",
    Mode.PARITY: "parity: each group has its own threshold from which a record becomes favourable",
}

DETECTORS = {
    DetectorUse.OFF: "off",
    DetectorUse.MARK: "mark: checks train it, and it marks records",
    DetectorUse.CHOOSE: "choose: it also chooses the live records for which the model is asked again",
}

BREAKERS = {
    BreakerState.CLOSED: "Checks ask it.",
    BreakerState.OPEN: "Checks do not ask it for a few minutes; a check that somebody starts tries it at once.",
    BreakerState.HALF_OPEN: "The next check tries it with one record first.",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a deployment needs, its place on the page, and whether it is done."""

    place: str
    name: str
    why: str
    done: bool


@router.get("/configure")
def configure_page(request: Request, deployment: ReadableDeployment, session: SessionIn, now: NowIn) -> Response:
    """Returns the whole configuration of one deployment."""
    monitor, training = monitor_of(session, deployment.no), training_summary_of(session, deployment.no)
    settings = settings_of(session, deployment.no)
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "warnings": [] if monitor is None else monitor_warnings(session, deployment, monitor),
        "missing": missing_sides(monitor),
        "training": training,
        "unclassified": None if training is None or monitor is None else find_unclassified(training.labels, monitor.outcomes),
        "steps": _list_steps(session, deployment, monitor, training),
        "text": group_text,
        "outcome_text": outcome_text,
        "titles": {key: metric.title for key, metric in CATALOGUE.items()},
        "plan": None if monitor is None else plan_from_counts(session, deployment.no, monitor, WantedDetection(ratio=0.7, chance=0.9)),
        "usual": DEFAULT_METRICS,
        "max_nightly_rows": MAX_NIGHTLY_ROWS,
        **_read_scans(session, deployment, monitor),
        "schedules": list(Schedule),
        "numeric": FieldKind.NUMERIC,
        "breakers": BREAKERS,
        "certificates": _describe_certificates(deployment),
        "mitigation": settings,
        "mitigated": () if monitor is None else mitigated_attributes(settings, monitor),
        "unused": unused_attributes(settings, monitor),
        "without_goal": () if monitor is None else attributes_without_goal(settings, monitor),
        "goals": {goal.attribute: goal for goal in settings.parity},
        "mitigation_notes": notes_of(settings.mode),
        "modes": MODES,
        "detectors": DETECTORS,
        "now": now,
    }
    return page(request, "configure.html", values | form_values())


def _read_scans(session: Session, deployment: Deployment, monitor: Monitor | None) -> dict[str, object]:
    """Returns the settings of scans for groups that nobody listed, and the columns that they can name."""
    columns = [column.name for column in (*deployment.schema.features, *deployment.schema.meta)]
    return {
        "scans": subgroup_settings_of(session, deployment.no),
        "scannable": [name for name in columns if monitor is None or name != monitor.evidence.person],
        "scans_at": NIGHTLY_AT,
        "max_scanned": MAX_FEATURES,
    }


def _describe_certificates(deployment: Deployment) -> dict[str, CertificateFacts]:
    """Returns the endpoint's own authority and client certificate, by the words for each."""
    tls = deployment.endpoint.tls if deployment.endpoint else None
    texts = {} if tls is None else {"authority": tls.authority, "shows": tls.certificate}
    found = {words: describe_certificates(text) for words, text in texts.items()}
    return {words: facts for words, facts in found.items() if facts is not None}


def outcome_text(value: GroupValue) -> str:
    """Returns an outcome as people read it: the text "1" in quotes, the number 1 without."""
    return group_text(value) if isinstance(value, Range) else outcome_label(value)


def group_text(value: GroupValue | None) -> str:
    """Returns a value as people read it, and as the forms write it: `18 to 25`."""
    if value is None:
        return "missing"
    return f"{canonical(value.lo)} to {canonical(value.hi)}" if isinstance(value, Range) else canonical(value)


def _list_steps(session: Session, deployment: Deployment, monitor: Monitor | None, training: TrainingSummary | None) -> list[Step]:
    """Returns the steps in the order in which they are best done."""
    is_logged = newest_record(session, deployment.no) is not None
    return [
        Step(
            "monitor", "Set the fairness monitor", "It says which groups are compared. Without it nothing is checked.", monitor is not None
        ),
        Step("log", "Log records", "The code is filled in with this deployment's id. Checks read what is logged.", is_logged),
        Step(
            "training",
            "Upload training data",
            "Optional. Recommendations are based on them, and each check is compared with them.",
            training is not None,
        ),
        Step(
            "model",
            "Give the model's endpoint",
            "Optional. With it checks also ask the model about copies of records in which one attribute is changed.",
            deployment.endpoint is not None,
        ),
    ]
