"""The content of a deployment: everything but what the store adds (numbers, versions, times)."""

from datetime import date

from ..base.frozen import frozen_by_name
from ..database.binary_rows import read_row
from ..domain.deployment import (
    Column,
    Deployment,
    Endpoint,
    FeedbackTable,
    OutputFields,
    PayloadTable,
    ProblemType,
)


@frozen_by_name
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


def build_definition(deployment: Deployment) -> Definition:
    return read_row(Definition, deployment, features=deployment.schema.features, meta=deployment.schema.meta)
