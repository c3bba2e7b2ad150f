"""The route that scores records and mitigates the answers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from ...access.gate.caller import DeploymentId, Logger, NowIn, open_feature
from ...base.clock import monotonic_seconds
from ...base.errors import InvalidInput, ScoringFailed
from ...intake.hot_routes.hot_route import Bodies, ClientGone
from ...intake.hot_routes.openapi_entries import ENCODING
from ...payloads.registry import PayloadFormat
from ...web.middleware import takes
from ...web.route_declarations import CONFLICT, answers
from .openapi_entries import ANSWER, BODY, OTHER_MEDIA
from .service import FACTS_HEADER, ActiveMitigation, LiveRequest

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["mitigation"])

DEFAULT_SECONDS = 10.0
MAX_SECONDS = 300.0

_bodies = Bodies()


@router.post(
    "/mitigated-predictions",
    response_class=Response,
    responses={200: ANSWER} | CONFLICT | answers(ScoringFailed),
    openapi_extra={"requestBody": BODY, "parameters": [ENCODING]},
)
@takes(*OTHER_MEDIA)
async def predict_mitigated(
    request: Request,
    principal: Logger,
    mitigation: Annotated[ActiveMitigation, Depends(open_feature(ActiveMitigation))],
    deployment_id: DeploymentId,
    now: NowIn,
    timeout_seconds: Annotated[
        float,
        Query(gt=0, le=MAX_SECONDS, allow_inf_nan=False, description="How long the whole answer may take."),
    ] = DEFAULT_SECONDS,
    payload_format: Annotated[
        PayloadFormat | None,
        Query(description="The format of the body and the answer. By default the body shows it."),
    ] = None,
) -> Response:
    """Scores records by the deployment's own model, and adds the mitigated prediction to each answer.

    The model is asked once for the records and once for all their copies: each record that may be treated
    unfairly, with reference values in place of its own. `mitigation` says of every record what mitigation
    did with it. If the copies cannot be scored within the time, the model's own answers come back, marked
    `not_scored`, with the reason in `warning`. Both answers are logged as payload before this one is sent.
    It is in the payload format of the request, with columns for the mitigated answers; facts for which that
    format has no place are in the header `Evenhand-Mitigation`. One bad value refuses the whole request:
    the model is not asked, and nothing is stored.
    """
    # First: the time that the caller allows includes the body's arrival.
    began = monotonic_seconds()
    announced = request.headers.get("content-length", "").encode("latin-1")
    try:
        # The body is in memory until the answer is computed.
        async with _bodies.hold(request.receive, announced, principal.actor) as body:
            live = LiveRequest(
                body=body,
                encoding=request.headers.get("content-encoding", "").strip().lower(),
                payload_format=payload_format,
                began=began,
                timeout_seconds=timeout_seconds,
            )
            answer = await mitigation.answer(deployment_id, live, caller=principal, now=now)
    except (ClientGone, ClientDisconnect) as error:
        raise InvalidInput("body", "did not arrive completely") from error
    headers = {} if answer.facts is None else {FACTS_HEADER: answer.facts}
    return Response(answer.body, media_type=answer.media_type, headers=headers)
