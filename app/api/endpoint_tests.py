"""Routes that try a model's endpoint: of a stored deployment, and of one that is about to be created. Nothing is stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from app.api.answers import problems_of_deployment, problems_with_body
from app.api.deployments import checked_definition
from app.api.schemas.endpoint_tests import EndpointTestIn, EndpointTestOut, NewEndpointTestIn
from app.checks.endpoint_tests import Question, try_endpoint
from app.domain.definitions import Definition
from app.domain.deployments import Column, Deployment
from app.domain.values import Scalar
from app.errors import Conflict, FieldProblem, InvalidInput
from app.ingest.cells import printable
from app.ingest.checked import RecordRefused
from app.ingest.plan import Columns
from app.scoring.egress import EgressPolicy
from app.security.principals import Permission, Principal
from app.services import Services
from app.store.deployments import Deployments
from app.store.monitors import monitor_of
from app.store.newest import NewestRecord, newest_record
from app.web.access import DeploymentId, Manager, ServicesIn, managed

router = APIRouter(prefix="/v1", tags=["deployments"])

MOST_PROBLEMS = 100
"""That one answer lists."""

Rows = list[list[Scalar | None]]


@router.post(
    "/deployments/{deployment_id}/endpoint-tests",
    operation_id="testEndpoint",
    responses=problems_with_body(Conflict) | problems_of_deployment(),
)
async def post_endpoint_test(
    principal: Manager, services: ServicesIn, deployment_id: DeploymentId, body: EndpointTestIn | None = None
) -> EndpointTestOut:
    """Asks the deployment's endpoint about a few records with its stored credentials, within 10 seconds, and stores nothing.

    Without records, about the payload record that was logged last; 409 where there is none of the present columns. A model that does
    not answer, or not as it should, is a result: 200 with `ok` false.
    """
    async with services.turns:
        question, newest = await run_in_threadpool(_of_stored, services, principal, deployment_id, body)
    test = await try_endpoint(question, EgressPolicy.of(services.settings.allowed_endpoints))
    return EndpointTestOut.of(test, newest, has_monitor=question.rule is not None)


@router.post("/endpoint-tests", operation_id="testNewEndpoint", responses=problems_with_body())
async def post_new_endpoint_test(body: NewEndpointTestIn, principal: Manager, services: ServicesIn) -> EndpointTestOut:
    """The same for a deployment that is not stored yet: its definition as `POST /v1/deployments` takes it, with an endpoint."""
    principal.require(Permission.MANAGE)
    question = _of_new(body, services)
    test = await try_endpoint(question, EgressPolicy.of(services.settings.allowed_endpoints))
    return EndpointTestOut.of(test, None, has_monitor=False)


def _of_stored(
    services: Services, principal: Principal, deployment_id: str, body: EndpointTestIn | None
) -> tuple[Question, NewestRecord | None]:
    with services.database.transaction() as session:
        deployment = managed(principal, Deployments(session, services.secret_box), deployment_id)
        monitor = monitor_of(session, deployment.no)
        newest = newest_record(session, deployment.no) if body is None or body.records is None else None
    if deployment.endpoint is None:
        raise Conflict(f"Deployment {deployment.id} has no endpoint that could be tested; give it one.")
    question = Question(
        endpoint=deployment.endpoint,
        outputs=deployment.outputs,
        problem_type=deployment.problem_type,
        columns=tuple(column.name for column in deployment.schema.features),
        rows=[],
        rule=None if monitor is None else monitor.outcomes,
    )
    if body is not None and body.records is not None:
        return replace(question, rows=_checked_rows(body.records, deployment.schema.features)), None
    logged = _required(newest, deployment)
    return replace(question, rows=[logged.features], logged=logged.answer, logged_revision=logged.model_revision), logged


def _required(newest: NewestRecord | None, deployment: Deployment) -> NewestRecord:
    if newest is None:
        raise Conflict(f"Nothing was logged of {deployment.id} yet, so there is no record to ask about. Send one in `records`.")
    if newest.schema_version != deployment.schema.version:
        raise Conflict(
            f"The columns of {deployment.id} were changed since its newest record was logged, so it cannot be asked about. Send a record"
            " in `records`."
        )
    return newest


def _of_new(body: NewEndpointTestIn, services: Services) -> Question:
    definition = body.deployment.to_domain()
    problems = [FieldProblem(f"deployment.{problem.field}", problem.message) for problem in _problems(definition, services)]
    if definition.endpoint is None:
        problems.append(FieldProblem("deployment.endpoint", "is required: it is what is tested"))
    if problems or definition.endpoint is None:
        raise InvalidInput(problems)
    return Question(
        endpoint=definition.endpoint,
        outputs=definition.outputs,
        problem_type=definition.problem_type,
        columns=tuple(column.name for column in definition.features),
        rows=_checked_rows(body.records, definition.features),
    )


def _problems(definition: Definition, services: Services) -> Sequence[FieldProblem]:
    try:
        checked_definition(definition, services)
    except InvalidInput as error:
        return error.problems
    return ()


def _checked_rows(records: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Rows:
    """The records' values in the order of the columns, as they would be stored.

    Raises:
        InvalidInput: something in them is not as the columns say; names each.
    """
    problems = [problem for index, record in enumerate(records) for problem in _record_problems(index, record, columns)]
    if problems:
        raise InvalidInput(problems[:MOST_PROBLEMS])
    of_features = Columns.of("records", tuple(columns), required=True)
    return [list(of_features.cells(record)) for record in records]


def _record_problems(index: int, record: Mapping[str, Any], columns: Sequence[Column]) -> Iterator[FieldProblem]:
    place, known = f"records[{index}]", {column.name for column in columns}
    for name in record:
        if name not in known:
            yield FieldProblem(f"{place}.{printable(name):.200}", "is not a feature of the deployment")
    for column in columns:
        try:
            Columns.of(place, (column,), required=True).cells({name: value for name, value in record.items() if name == column.name})
        except RecordRefused as refused:
            yield FieldProblem(refused.field, refused.reason)
