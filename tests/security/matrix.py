"""The route × role matrix: every operation of the OpenAPI document, asked over HTTP by every kind of caller."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy import select

from app.security.principals import Role
from app.store.tables import DeploymentRow
from tests.builders.bodies import deployment, monitor
from tests.security.permissions import CALLERS, RULES, Caller
from tests.service import RunningService

OWN = "own-model"
OTHER = "other-model"
METHODS = ("get", "put", "post", "patch", "delete")
NOBODY = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
"""An identifier of nothing."""
WITHOUT_A_MODEL = {"predict"}
"""Operations that call the deployment's model, whatever the body; nothing listens there, which is 502."""
PLACES = {"deployment_id": OWN, "form": "html", "metric_key": "disparate_impact", "view": "payload", "version": "1", "key_id": "aaaaaaaa"}
"""Values for the parameters of an address; what is not here gets an identifier of nothing."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the OpenAPI document."""

    id: str
    method: str
    path: str

    @property
    def address(self) -> str:
        """The path with a value in each of its places."""
        return re.sub(r"\{(\w+)(:path)?\}", lambda found: PLACES.get(found[1], NOBODY), self.path)


@dataclass(slots=True)
class Matrix:
    """The answers: how many were asked for, and those that are not what the table says."""

    asked: int = 0
    operations: int = 0
    unknown: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """Returns one sentence for each fault; none says that code and table agree."""
        return [
            *(f"{name} is in the OpenAPI document and not in tests/security/permissions.py: say who may call it" for name in self.unknown),
            *(f"{name} is in tests/security/permissions.py and not in the OpenAPI document" for name in self.gone),
            *self.wrong,
        ]


def try_every_operation(service: RunningService) -> Matrix:
    """Asks for every operation as every caller, and compares the answers with the table.

    A caller that is let in may get any answer but 401, 403 and those of a failed service: the bodies are empty, most of them are refused.
    """
    callers = _callers(service)
    operations = list(_operations(service.client.get("/openapi.json").json()))
    ids = {operation.id for operation in operations}
    matrix = Matrix(operations=len(operations), unknown=sorted(ids - RULES.keys()), gone=sorted(RULES.keys() - ids))
    for operation in operations:
        if operation.id in matrix.unknown:
            continue
        for caller, headers in callers:
            expected = RULES[operation.id].refusal(caller)
            if operation.id == "deleteDeployment" and expected is None:
                continue  # the other cells need the deployment; see `test_role_matrix`
            answer = _ask(service.client, operation, headers)
            matrix.asked += 1
            is_right = (
                answer == expected
                if expected is not None
                else answer not in (401, 403) and (answer < 500 or (operation.id in WITHOUT_A_MODEL and answer == 502))
            )
            if not is_right:
                matrix.wrong.append(f"{operation.id} by {caller.name}: {answer} instead of {expected or 'being let in'}")
    return matrix


def _operations(document: dict[str, Any]) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield Operation(methods[method]["operationId"], method, path)


def _callers(service: RunningService) -> list[tuple[Caller, dict[str, str]]]:
    """Returns each kind of caller with its headers; registers the deployments that they are bound to."""
    for name in (OWN, OTHER):
        service.client.post("/v1/deployments", json=deployment(id=name, name=name)).raise_for_status()
        service.client.put(f"/v1/deployments/{name}/fairness-monitor", json=monitor()).raise_for_status()
    with service.database.transaction() as session:
        numbers = {row.id: row.no for row in session.execute(select(DeploymentRow.id, DeploymentRow.no))}
    bound_to = {"own": numbers[OWN], "other": numbers[OTHER], None: None}
    return [(caller, {} if caller.role is None else service.as_(Role(caller.role), bound_to[caller.bound_to])) for caller in CALLERS]


def _ask(client: httpx.Client, operation: Operation, headers: dict[str, str]) -> int:
    body: dict[str, Any] | None = {} if operation.method in ("put", "post", "patch") else None
    request = client.build_request(operation.method.upper(), operation.address, headers=headers, json=body)
    if not headers:
        del request.headers["Authorization"]
    return client.send(request).status_code
