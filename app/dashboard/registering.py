"""Register a deployment: a form for what REST v1 takes, and what its choices are."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.dashboard.rendering import page
from app.domain.deployments import CredentialsKind, FieldType, PayloadFormat, ProblemType
from app.security.principals import Permission
from app.web.access import Manager

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

FORMATS = {
    PayloadFormat.FIELDS_VALUES: "fields and values",
    PayloadFormat.MLFLOW: "MLflow",
}

CREDENTIALS = {
    CredentialsKind.BASIC: "user and password (basic)",
    CredentialsKind.BEARER: "token (bearer)",
    CredentialsKind.HEADER: "a header of your own",
}


@router.get("/register")
def new_deployment_page(request: Request, principal: Manager) -> Response:
    """The form, for those who may register deployments."""
    principal.require(Permission.MANAGE)
    return page(request, "new_deployment.html", form_values())


def form_values() -> dict[str, Any]:
    """What a deployment's form offers to choose from."""
    return {"problem_types": PROBLEM_TYPES, "field_types": FIELD_TYPES, "formats": FORMATS, "credentials_kinds": CREDENTIALS}
