"""The content of a deployment: everything but what the store adds (numbers, versions, times)."""

from datetime import date

from ..base.frozen import frozen
from ..domain.deployment import Column, Deployment, Endpoint, FeedbackTable, OutputFields, PayloadTable, ProblemType


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


def build_definition(deployment: Deployment) -> Definition:
    return Definition(
        name=deployment.name,
        problem_type=deployment.problem_type,
        features=deployment.schema.features,
        meta=deployment.schema.meta,
        outputs=deployment.outputs,
        model_revision=deployment.model_revision,
        endpoint=deployment.endpoint,
        owner=deployment.owner,
        purpose=deployment.purpose,
        payload=deployment.payload,
        feedback=deployment.feedback,
        earliest=deployment.earliest,
    )
