"""Registration page."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...access.gate.caller import Manager, SessionIn
from ...access.principals import Permission
from ...domain.deployment import CredentialsKind, FieldType, ProblemType
from ...payloads.registry import PAIR_FORMAT, PayloadFormat
from ..render import page
from .steps import list_steps

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


@router.get("/register")
def new_deployment_page(request: Request, principal: Manager, session: SessionIn) -> Response:
    principal.require(Permission.MANAGE)
    return page(
        request,
        "new_deployment.html",
        form_values() | {"steps": list_steps(session, None, None, has_records=False)},
    )


def form_values() -> dict[str, Any]:
    return {
        "problem_types": PROBLEM_TYPES,
        "field_types": FIELD_TYPES,
        "formats": FORMATS,
        "logged_forms": LOGGED_FORMS,
        "credentials_kinds": CREDENTIALS,
    }
