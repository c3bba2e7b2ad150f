"""Page that registers a deployment, and the steps in which a new one is set up."""

from enum import StrEnum
from typing import Any, Self

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.audit import activity_queries
from ...access.audit.activity_queries import ENDPOINT_ANSWERED, ActivityFilter
from ...access.gate.caller import Manager, SessionIn
from ...access.principals import Permission
from ...alerts.channels.notification_queries import list_named_channels
from ...base.values import frozen_by_name
from ...checks import queries as checks
from ...domain.check import CheckState
from ...domain.deployment import CredentialsKind, Deployment, FieldType, ProblemType
from ...domain.monitor import Monitor
from ...domain.paging import Paging
from ...payloads.registry import PAIR_FORMAT, PayloadFormat
from ..render import show_page

router = APIRouter(include_in_schema=False)

PROBLEM_TYPES = {
    ProblemType.BINARY: "binary: one of two classes",
    ProblemType.MULTICLASS: "multiclass: one of several classes",
    ProblemType.REGRESSION: "regression: a number",
}

FIELD_TYPES = {
    FieldType.STRING: "text",
    FieldType.INTEGER: "whole number",
    FieldType.NUMBER: "number",
    FieldType.BOOLEAN: "true or false",
}

FORMATS = {payload_format: payload_format.codec.label for payload_format in PayloadFormat}

LOGGED_FORMS = FORMATS | {PAIR_FORMAT: "the model's request and answer"}

CREDENTIALS = {
    CredentialsKind.BASIC: "user and password (basic)",
    CredentialsKind.BEARER: "token (bearer)",
    CredentialsKind.HEADER: "a header of your own",
    CredentialsKind.OAUTH_CLIENT: "OAuth 2 client credentials",
    CredentialsKind.IAM_KEY: "API key, exchanged for a token (IBM Cloud)",
    CredentialsKind.CPD_KEY: "API key of a user, exchanged for a token (Cloud Pak for Data)",
    CredentialsKind.MCSP_KEY: "API key, exchanged for a token (IBM MCSP)",
}


class ConfigurePart(StrEnum):
    """Part of Configure: place in addresses, and title."""

    MODEL = "model", "Model and endpoint"
    RECOMMENDED = "recommended", "Recommended monitors"
    MONITOR = "monitor", "Fairness monitor"
    PERSONS = "persons", "Whose records"
    TRAINING = "training", "Training data"
    MITIGATION = "mitigation", "Mitigation"
    ALERTS = "alerts", "Alert channel"
    LOG = "log", "Log records"
    CHECK = "check", "First check"
    DANGER = "danger", "Delete"

    title_text: str

    def __new__(cls, name: str, title: str) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.title_text = title
        return member


class StepName(StrEnum):
    """Steps in the order in which they are best done."""

    DATA = "data"
    GROUPS = "groups"
    PERSONS = "persons"
    ENDPOINT = "endpoint"
    ALERTS = "alerts"
    LOG = "log"
    CHECK = "check"


@frozen_by_name
class Step:
    name: StepName
    title: str
    why: str
    parts: tuple[ConfigurePart, ...]
    is_done: bool
    is_optional: bool = False


def list_steps(
    session: Session, deployment: Deployment | None, monitor: Monitor | None, *, has_records: bool
) -> tuple[Step, ...]:
    is_checked = deployment is not None and bool(
        checks.page_checks(session, deployment.no, Paging(1), state=CheckState.SUCCEEDED)
    )
    return (
        Step(
            name=StepName.DATA,
            title="Data",
            why="The columns that the model takes, and the names of its answer. Training data are optional: "
            "with them, recommendations know the groups, and each check is compared with the data that the "
            "model was trained on.",
            parts=(ConfigurePart.TRAINING,),
            is_done=deployment is not None,
        ),
        Step(
            name=StepName.GROUPS,
            title="Groups",
            why="The fairness monitor says which outcome is favourable and which groups are compared. "
            "Without it nothing is checked.",
            parts=(ConfigurePart.RECOMMENDED, ConfigurePart.MONITOR),
            is_done=monitor is not None,
        ),
        Step(
            name=StepName.PERSONS,
            title="Persons",
            why="Whose records are they? Evidence over time holds if a person counts once. While it is not "
            "said, evidence counts at a tenth, so proof takes about ten times as long.",
            parts=(ConfigurePart.PERSONS,),
            is_done=monitor is not None and monitor.evidence.divisor == 1,
            is_optional=True,
        ),
        Step(
            name=StepName.ENDPOINT,
            title="Endpoint",
            why="Optional. With it checks also ask the model about copies of records in which one attribute "
            "is changed.",
            parts=(ConfigurePart.MODEL,),
            is_done=deployment is not None and _has_answered(session, deployment),
            is_optional=True,
        ),
        Step(
            name=StepName.ALERTS,
            title="Alerts",
            why="Optional. An alert is sent by e-mail, Slack or webhook. Without a channel alerts go "
            "nowhere: they are shown on the pages only.",
            parts=(ConfigurePart.ALERTS,),
            is_done=deployment is not None and bool(list_named_channels(session, deployment.no)),
            is_optional=True,
        ),
        _describe_logging_step(deployment, has_records=has_records, is_checked=is_checked),
        Step(
            name=StepName.CHECK,
            title="First check",
            why="A check compares the groups in the records of an hour. From then on one runs every hour.",
            parts=(ConfigurePart.CHECK,),
            is_done=is_checked,
        ),
    )


def _has_answered(session: Session, deployment: Deployment) -> bool:
    tests = activity_queries.page_activities(
        session, ActivityFilter(deployment_no=deployment.no, action=ENDPOINT_ANSWERED), Paging(1)
    )
    return deployment.endpoint is not None and bool(tests) and tests[0].at >= deployment.updated_at


def _describe_logging_step(deployment: Deployment | None, *, has_records: bool, is_checked: bool) -> Step:
    if deployment is None or deployment.payload is None:
        why = "Your program logs what the model is asked and what it answers. Checks read what is logged."
        return Step(name=StepName.LOG, title="Log", why=why, parts=(ConfigurePart.LOG,), is_done=has_records)
    # A check that succeeded has read records, whatever was listed since.
    why = "Checks read the records in files, where they lie. Nothing is logged."
    return Step(name=StepName.LOG, title="Files", why=why, parts=(ConfigurePart.LOG,), is_done=is_checked)


def find_next_step(steps: tuple[Step, ...]) -> Step | None:
    """None after the first check.

    An optional one is passed over once a later one is done.
    """
    for position, step in enumerate(steps):
        if not step.is_done and not (
            step.is_optional and any(later.is_done for later in steps[position + 1 :])
        ):
            return step
    return None


def find_step_after(steps: tuple[Step, ...], step: Step | None) -> Step:
    later = steps[steps.index(step) + 1 :] if step in steps else ()
    return next((candidate for candidate in later if not candidate.is_done), steps[-1])


@router.get("/register")
def show_new_deployment_page(request: Request, principal: Manager, session: SessionIn) -> Response:
    principal.require(Permission.MANAGE)
    return show_page(
        request,
        "new_deployment.html",
        list_form_values() | {"steps": list_steps(session, None, None, has_records=False)},
    )


def list_form_values() -> dict[str, Any]:
    return {
        "problem_types": PROBLEM_TYPES,
        "field_types": FIELD_TYPES,
        "formats": FORMATS,
        "logged_forms": LOGGED_FORMS,
        "credentials_kinds": CREDENTIALS,
    }
