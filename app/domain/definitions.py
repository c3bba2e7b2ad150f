"""The content of a deployment: everything but what the store adds (numbers, versions, times)."""

from dataclasses import fields
from datetime import date
from typing import Any

from ..frozen import frozen
from .deployments import Column, Deployment, Endpoint, OutputFields, ProblemType
from .tables_of_files import FeedbackTable, PayloadTable


@frozen(kw_only=True)
class Definition:
    name: str
    problem_type: ProblemType
    features: tuple[Column, ...]
    meta: tuple[Column, ...]
    outputs: OutputFields
    model_revision: str
    endpoint: Endpoint | None
    owner: str | None = None
    purpose: str | None = None
    payload: PayloadTable | None = None
    feedback: FeedbackTable | None = None
    earliest: date | None = None


def definition_of(deployment: Deployment) -> Definition:
    of_schema: dict[str, Any] = {"features": deployment.schema.features, "meta": deployment.schema.meta}
    return Definition(
        **of_schema, **{field.name: getattr(deployment, field.name) for field in fields(Definition) if field.name not in of_schema}
    )
