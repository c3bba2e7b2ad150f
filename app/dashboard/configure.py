"""Configure: what a deployment is, what is watched of it, what it was trained on, how it is mitigated and how its records are logged.

The page says what is stored. A person who may change it gets forms, which scripts fill from REST v1 and send there.
"""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.checks.sides import missing_sides
from app.dashboard.registering import form_values
from app.dashboard.rendering import page
from app.domain.deployments import Deployment, FieldKind
from app.domain.mitigation import DetectorUse, Mode
from app.domain.mitigation_rules import attributes_without_goal, mitigated_attributes, notes_of, unused_attributes
from app.domain.monitors import Monitor, Schedule
from app.domain.outcomes import outcome_label
from app.domain.training_data import TrainingSummary
from app.domain.values import GroupValue, Range, canonical
from app.metrics.catalogue import CATALOGUE, DEFAULT_METRICS
from app.store.mitigation import settings_of
from app.store.monitors import monitor_of
from app.store.newest import newest_record
from app.store.training_data import training_summary_of
from app.training.unclassified import unclassified_labels
from app.views.monitor_warnings import monitor_warnings
from app.web.access import NowIn, ReadableDeployment, SessionIn

router = APIRouter(prefix="/deployments/{deployment_id}", include_in_schema=False)

MODES = {
    Mode.LIFT_ONLY: "lift only: a monitored record becomes favourable where it would be with a reference value; nothing is lowered",
    Mode.REFERENCE_SUBSTITUTION: "reference substitution: a monitored record gets the outcome it would have with a reference value",
    Mode.PARITY: "parity: a record becomes favourable from its group's own threshold on",
}

DETECTORS = {
    DetectorUse.OFF: "off",
    DetectorUse.MARK: "mark: trained in checks, to mark records",
    DetectorUse.CHOOSE: "choose: also to choose live records for a second call of the model",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a deployment needs, where on the page it is done, and whether it is."""

    place: str
    name: str
    why: str
    done: bool


@router.get("/configure")
def configure_page(request: Request, deployment: ReadableDeployment, session: SessionIn, now: NowIn) -> Response:
    """Everything that is configured of one deployment."""
    monitor, training = monitor_of(session, deployment.no), training_summary_of(session, deployment.no)
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "warnings": [] if monitor is None else monitor_warnings(session, deployment, monitor),
        "missing": missing_sides(monitor),
        "training": training,
        "unclassified": None if training is None or monitor is None else unclassified_labels(training.labels, monitor.outcomes),
        "steps": _steps(session, deployment, monitor, training),
        "text": group_text,
        "outcome_text": outcome_text,
        "titles": {key: metric.title for key, metric in CATALOGUE.items()},
        "usual": DEFAULT_METRICS,
        "schedules": list(Schedule),
        "numeric": FieldKind.NUMERIC,
        "now": now,
    }
    return page(request, "configure.html", values | form_values() | _mitigation(session, deployment, monitor))


def outcome_text(value: GroupValue) -> str:
    """An outcome as people read it: the text "1" in quotes, which the number 1 has not."""
    return group_text(value) if isinstance(value, Range) else outcome_label(value)


def group_text(value: GroupValue | None) -> str:
    """A value as people read it, and as the forms write it: `18 to 25`."""
    if value is None:
        return "missing"
    return f"{canonical(value.lo)} to {canonical(value.hi)}" if isinstance(value, Range) else canonical(value)


def _steps(session: Session, deployment: Deployment, monitor: Monitor | None, training: TrainingSummary | None) -> list[Step]:
    """In the order in which they are best done."""
    is_logged = newest_record(session, deployment.no) is not None
    return [
        Step(
            "monitor", "Set the fairness monitor", "It says which groups are compared. Without it nothing is checked.", monitor is not None
        ),
        Step("log", "Log records", "The code is filled in with this deployment's id. Checks read what is logged.", is_logged),
        Step(
            "training",
            "Upload training data",
            "Optional. Recommendations rest on them, and each check is set beside them.",
            training is not None,
        ),
        Step(
            "model",
            "Give the model's endpoint",
            "Optional. With it checks also ask the model about copies of records in which one attribute is changed.",
            deployment.endpoint is not None,
        ),
    ]


def _mitigation(session: Session, deployment: Deployment, monitor: Monitor | None) -> dict[str, Any]:
    settings = settings_of(session, deployment.no)
    return {
        "mitigation": settings,
        "mitigated": () if monitor is None else mitigated_attributes(settings, monitor),
        "unused": unused_attributes(settings, monitor),
        "without_goal": () if monitor is None else attributes_without_goal(settings, monitor),
        "goals": {goal.attribute: goal for goal in settings.parity},
        "mitigation_notes": notes_of(settings.mode),
        "modes": MODES,
        "detectors": DETECTORS,
    }
