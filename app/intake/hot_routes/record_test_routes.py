"""The route that checks payload records and stores nothing."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body

from ...access.gate.caller import DeploymentId, Logger, NowIn
from ...base.errors import NotFound
from ...domain.record import Receipt
from ...web.body import Out, example
from ..logging.log_request import LogRequest
from .routes import IngestionIn


class RefusedRecordOut(Out):
    """One record that would be refused: its place in the request, the field, and the reason."""

    index: int
    field: str
    reason: str


class RecordTestOut(Out):
    """Numbers of records that would be accepted and refused. Nothing was stored."""

    model_config = example(
        {
            "sent": 2,
            "accepted": 1,
            "rejected": 1,
            "rejections": [{"index": 1, "field": "features.Age", "reason": "must be a whole number"}],
        }
    )

    sent: int
    accepted: int
    rejected: int
    rejections: list[RefusedRecordOut]
    """A reason for each record that would be refused."""

    @classmethod
    def of(cls, receipt: Receipt) -> "RecordTestOut":
        return cls.from_object(receipt, sent=receipt.accepted + receipt.rejected)


router = APIRouter(prefix="/v1/deployments/{deployment_id}/record-tests", tags=["records"])

_EXAMPLE = {"records": [{"features": {"Age": 31, "LoanAmount": 4200.5, "Sex": "female"}, "prediction": 1}]}
_AS_LOGGED = "Records, or a request with its answer, as `POST …/payload-records` takes them."


@router.post("")
async def test_records(
    principal: Logger,
    ingestion: IngestionIn,
    deployment_id: DeploymentId,
    now: NowIn,
    body: Annotated[dict[str, Any], Body(description=_AS_LOGGED, examples=[_EXAMPLE])],
) -> RecordTestOut:
    """Checks payload records by the deployment's columns and returns the reason for each refusal. Nothing is
    stored, and nothing counts.

    Ids that are stored already are not looked for.
    """
    plan = await ingestion.current_plan(deployment_id)
    if not principal.sees(plan.target.no):
        raise NotFound("deployment", deployment_id)
    request = LogRequest(body=json.dumps(body).encode("ascii"), actor=principal.actor)
    return RecordTestOut.of(await ingestion.try_payload(deployment_id, request, now=now))
