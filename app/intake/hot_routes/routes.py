"""Routes that log payload and feedback records, and the one that only tries payload records."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated
from urllib.parse import parse_qsl

import msgspec
from fastapi import APIRouter, Body, Depends
from starlette.responses import Response

from ...access.gate.caller import DeploymentId, Logger, NowIn, Services, open_feature
from ...base.clock import utc_now
from ...base.encodings import UTF_8
from ...base.errors import Conflict, EvenhandError, FieldProblem, InvalidInput, UnsupportedMediaType
from ...base.strict_json import JsonObject
from ...base.values import BOOLEANS
from ...domain.record import Receipt
from ...domain.record_times import RecordSource, read_stated_source
from ...web.body import Out, example, parse_content_type
from ...web.middleware import is_json, require_parameters
from ...web.problems import KINDS, build_problem_response
from ..logging.log_request import LogRequest
from ..logging.service import Ingestion
from .hot_route import Bodies, HotRequest, HotRoute

IngestionIn = Annotated[Ingestion, Depends(open_feature(Ingestion))]

PAYLOAD = "payload-records"
FEEDBACK = "feedback-records"

_SWITCHES = ("historical", "first_time_counts", "assume_utc")

PARAMETERS = {PAYLOAD: dict.fromkeys(_SWITCHES, False), FEEDBACK: dict.fromkeys((*_SWITCHES, "label"), False)}

SOURCE_HEADER = b"evenhand-source"

_MAX_PROBLEMS = 100

_JSON_TYPES = ("", "application/json")
_CSV_TYPE = "text/csv"

_encode = msgspec.json.Encoder().encode


class IngestionRoute(HotRoute):
    def __init__(self, services: Services, name: str, bodies: Bodies, ingestion: Ingestion) -> None:
        super().__init__(services, name, bodies)
        self._name = name
        self._ingestion = ingestion

    async def _answer(self, request: HotRequest) -> Response:
        principal = await self._find_logger(request)
        plan = await self._ingestion.plan(request.deployment_id)
        principal.require_sight(plan.target.no, request.deployment_id)
        is_feedback = self._name == FEEDBACK
        content_type = request.header(b"content-type").strip().lower()
        media_type = content_type.partition(";")[0].strip()
        is_csv = is_feedback and media_type == _CSV_TYPE
        if not is_csv and media_type not in _JSON_TYPES and not is_json(media_type):
            expected = f"application/json{' or text/csv' if is_feedback else ''}"
            raise UnsupportedMediaType(f"Send the content type {expected}; found {media_type!r}.")
        options = _read_options(request.scope["query_string"], PARAMETERS[self._name])
        source = RecordSource.REST
        if SOURCE_HEADER in request.headers:
            source = read_stated_source(request.header(SOURCE_HEADER))
        charset = parse_content_type(content_type).encoding if is_csv else UTF_8
        async with self._hold_body(request, principal.actor) as body:
            self._limits.admit_request(principal.actor, len(body))
            log_request = LogRequest(
                body=body,
                encoding=request.header(b"content-encoding").strip().lower(),
                is_csv=is_csv,
                charset=charset,
                actor=principal.actor,
                source=source,
                **options,
            )
            log_records = self._ingestion.log_feedback if is_feedback else self._ingestion.log_payload
            receipt = await log_records(request.deployment_id, log_request, now=utc_now())
            members = build_receipt_members(receipt)
            self._limits.note_stored(
                principal.actor,
                sent=members["sent"],
                records=receipt.accepted,
                size=len(body) if receipt.accepted else 0,
            )
        # A wholly refused request must never look like a success.
        if receipt.accepted or receipt.duplicate:
            return Response(_encode(members), media_type="application/json")
        return refuse_all(InvalidInput if receipt.rejections else Conflict, receipt, request.id)


def build_receipt_members(receipt: Receipt, stored: str = "accepted") -> JsonObject:
    return {
        "sent": receipt.accepted + receipt.duplicate + receipt.rejected,
        stored: receipt.accepted,
        "duplicate": receipt.duplicate,
        "rejected": receipt.rejected,
        "rejections": [asdict(rejection) for rejection in receipt.rejections],
        "conflicts": [asdict(conflict) for conflict in receipt.conflicts],
        **({"rounded_probabilities": receipt.rounded} if receipt.rounded else {}),
        **({"warnings": list(map(asdict, receipt.warnings))} if receipt.warnings else {}),
    }


def refuse_all(
    error: type[EvenhandError],
    receipt: Receipt,
    request_id: str,
    *,
    noun: str = "record",
    stored: str = "accepted",
    conflicting: str = "id",
) -> Response:
    """Builds the answer to a request of which no record was stored.

    `noun` and `stored` name the records and the accepted ones, `conflicting` the field of a conflict.
    """
    faults = [
        FieldProblem(f"{noun}s[{refused.index}].{refused.field}", refused.reason)
        for refused in receipt.rejections
    ]
    faults += [
        FieldProblem(f"{noun}s[{conflict.index}].{conflicting}", conflict.reason)
        for conflict in receipt.conflicts
    ]
    lead = (
        f"The {noun} was not stored."
        if len(faults) == 1
        else f"None of the {len(faults):,} {noun}s was stored. The first:"
    )
    detail = f"{lead} {faults[0].field}: {faults[0].message}"
    return build_problem_response(
        KINDS[error],
        detail,
        request_id,
        problems=faults[:_MAX_PROBLEMS],
        **build_receipt_members(receipt, stored),
    )


def _read_options(query: bytes, parameters: Mapping[str, bool]) -> JsonObject:
    if not query:
        return {}
    sent = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    require_parameters([name for name, _ in sent], parameters)
    options: JsonObject = dict(sent)
    for name in _SWITCHES:
        if name in options:
            text = options[name].lower()
            if text not in BOOLEANS:
                raise InvalidInput(name, f"must be true or false, found {text[:20]!r}")
            options[name] = BOOLEANS[text]
    return options


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


router = APIRouter(prefix="/v1/deployments/{deployment_id}/record-tests", tags=["records"])

_EXAMPLE = {"records": [{"features": {"Age": 31, "LoanAmount": 4200.5, "Sex": "female"}, "prediction": 1}]}
_AS_LOGGED = "Records, or a request with its answer, as `POST …/payload-records` takes them."


@router.post("")
async def test_records(
    principal: Logger,
    ingestion: IngestionIn,
    deployment_id: DeploymentId,
    now: NowIn,
    body: Annotated[JsonObject, Body(description=_AS_LOGGED, examples=[_EXAMPLE])],
) -> RecordTestOut:
    """Checks payload records by the deployment's columns and returns the reason for each refusal. Nothing is
    stored, and nothing counts.

    Ids that are stored already are not looked for.
    """
    plan = await ingestion.read_current_plan(deployment_id)
    principal.require_sight(plan.target.no, deployment_id)
    request = LogRequest(body=json.dumps(body).encode("ascii"), actor=principal.actor)
    receipt = await ingestion.try_payload(deployment_id, request, now=now)
    return RecordTestOut.from_object(receipt, sent=receipt.accepted + receipt.rejected)
