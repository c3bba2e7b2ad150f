"""The route that checks payload records and stores nothing."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body

from ...access.gate.caller import DeploymentId, Logger, NowIn
from ...base.errors import NotFound
from ..logging.log_request import LogRequest
from .record_test_bodies import RecordTestOut
from .routes import IngestionIn

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
