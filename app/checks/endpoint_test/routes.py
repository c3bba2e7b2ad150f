"""Routes that try an endpoint; nothing is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from ...access.audit.activity_queries import ENDPOINT_ANSWERED, record_activity
from ...access.gate.caller import DeploymentId, Manager, Services, ServicesIn, WholeManager
from ...access.principals import Principal
from ...base.errors import Conflict, FieldProblem, InvalidInput
from ...base.values import Scalar, printable
from ...deployments.deployment_in_address import get_managed
from ...deployments.monitor.queries import find_monitor
from ...deployments.queries import Deployments
from ...deployments.routes import check_definition
from ...domain.deployment import Column
from ...intake.logging.ingest_plan import Columns, RecordRefused
from ...sources.stored.newest_record import find_newest_record
from ...sources.stored.record_queries import StoredRecord
from ...web.route_declarations import CONFLICT
from .bodies import EndpointTestIn, EndpointTestOut, NewEndpointTestIn
from .endpoint_test import Question, find_format, try_endpoint

router = APIRouter(prefix="/v1", tags=["deployments"])

MAX_REPORTED_PROBLEMS = 100

Rows = list[list[Scalar | None]]


@router.post("/deployments/{deployment_id}/endpoint-tests", operation_id="testEndpoint", responses=CONFLICT)
async def post_endpoint_test(
    principal: Manager, services: ServicesIn, deployment_id: DeploymentId, body: EndpointTestIn | None = None
) -> EndpointTestOut:
    """Asks the deployment's endpoint about a few records with its stored credentials, within 10 seconds; only
    that it answers is stored.

    Without records, it asks about the newest payload record; 409 where there is none of the present
    columns. A model that does not answer, or not as it should, is a result: 200 with `ok` false. With
    `find_format` the formats are tried one after the other.
    """
    # The connection is given back before the model is asked.
    async with services.turns:
        question, newest = await run_in_threadpool(_build_question, services, principal, deployment_id, body)
    test = await (find_format if body and body.find_format else try_endpoint)(question, services.policy)
    if test.ok and test.payload_format == question.endpoint.payload_format:
        await run_in_threadpool(_record_answer, services, principal, deployment_id)
    return EndpointTestOut.of(test, newest, has_monitor=question.rule is not None)


def _record_answer(services: Services, principal: Principal, deployment_id: str) -> None:
    with services.database.transaction() as session:
        deployment = get_managed(principal, Deployments(session, services.secret_box), deployment_id)
        record_activity(session, principal.actor, ENDPOINT_ANSWERED, deployment)


@router.post("/endpoint-tests", operation_id="testNewEndpoint")
async def post_new_endpoint_test(
    body: NewEndpointTestIn, _principal: WholeManager, services: ServicesIn
) -> EndpointTestOut:
    """Tests the endpoint of a deployment that is not stored yet: its definition as `POST /v1/deployments`
    takes it, with an endpoint.
    """
    definition = body.deployment.to_domain()
    problems = []
    try:
        check_definition(definition, services)
    except InvalidInput as error:
        problems += [
            FieldProblem(f"deployment.{problem.field}", problem.message) for problem in error.problems
        ]
    if definition.endpoint is None:
        problems.append(FieldProblem("deployment.endpoint", "is required: it is what is tested"))
    elif definition.endpoint.is_loaded:
        problems.append(
            FieldProblem(
                "deployment.endpoint.source",
                "is a loaded model, which cannot be tested here: only workers load a model",
            )
        )
    if problems or definition.endpoint is None:
        raise InvalidInput(problems)

    question = Question(
        endpoint=definition.endpoint,
        outputs=definition.outputs,
        problem_type=definition.problem_type,
        features=definition.features,
        rows=_read_rows(body.records, definition.features),
    )
    test = await (find_format if body.find_format else try_endpoint)(question, services.policy)
    return EndpointTestOut.of(test, None, has_monitor=False)


def _build_question(
    services: Services, principal: Principal, deployment_id: str, body: EndpointTestIn | None
) -> tuple[Question, StoredRecord | None]:
    records = None if body is None else body.records
    with services.database.transaction() as session:
        deployment = get_managed(principal, Deployments(session, services.secret_box), deployment_id)
        monitor = find_monitor(session, deployment.no)
        newest = find_newest_record(session, deployment.no) if records is None else None
    if deployment.endpoint is None:
        raise Conflict(f"Deployment {deployment.id} has no endpoint that could be tested; give it one.")
    if deployment.endpoint.is_loaded:
        raise Conflict(
            f"The MLflow model of {deployment.id} cannot be tested here: only workers load it. Request a "
            "check instead."
        )
    question = Question(
        endpoint=deployment.endpoint,
        outputs=deployment.outputs,
        problem_type=deployment.problem_type,
        features=deployment.schema.features,
        rows=[],
        rule=monitor.outcomes if monitor else None,
    )
    if records:
        return replace(question, rows=_read_rows(records, deployment.schema.features)), None
    if newest is None:
        raise Conflict(
            f"Nothing was logged of {deployment.id} yet, so there is no record to ask about. Send one in "
            "`records`."
        )
    if newest.schema_version != deployment.schema.version:
        raise Conflict(
            f"The columns of {deployment.id} were changed since its newest record was logged, so it cannot "
            "be asked about. Send a record in `records`."
        )
    return replace(
        question, rows=[newest.features], logged=newest.answer, logged_revision=newest.model_revision
    ), newest


def _read_rows(records: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Rows:
    names = {column.name for column in columns}
    problems = []
    for index, record in enumerate(records):
        path = f"records[{index}]"
        problems += [
            FieldProblem(f"{path}.{printable(name):.200}", "is not a feature of the deployment")
            for name in record
            if name not in names
        ]
        for column in columns:
            # By column, so that the answer names every fault.
            cell = {name: value for name, value in record.items() if name == column.name}
            try:
                Columns.of(path, (column,), required=True).cells(cell)
            except RecordRefused as refused:
                problems.append(FieldProblem(refused.field, refused.reason))
    if problems:
        raise InvalidInput(problems[:MAX_REPORTED_PROBLEMS])
    features = Columns.of("records", tuple(columns), required=True)
    return [list(features.cells(record)) for record in records]
