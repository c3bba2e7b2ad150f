"""The route × role matrix: every operation of the OpenAPI document, asked over HTTP by every kind of caller."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import time
from typing import Any, Protocol

import httpx
from sqlalchemy import select

from app.access.principals import Role
from app.database.tables import DeploymentRow
from tests.builders.bodies import deployment, monitor
from tests.builders.issuers import LocalIssuer, log_in_at
from tests.security.permissions import CALLERS, RULES, Caller
from tests.service import RunningService

OWN = "own-model"
OTHER = "other-model"
METHODS = ("get", "put", "post", "patch", "delete")
NOBODY = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
"""An identifier of nothing."""
FROM_OUR_PAGE = {"Sec-Fetch-Site": "same-origin"}
WITHOUT_A_MODEL = {"predict"}
"""Operations that call the deployment's model, whatever the body; nothing listens there, which is 502."""
PLACES = {"deployment_id": OWN, "form": "html", "metric_key": "disparate_impact", "view": "as_logged", "version": "1", "key_id": "aaaaaaaa"}
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


FOR_PROGRAMS = {"logPayloadRecords", "logFeedbackRecords", "predict", "logEvents", "logAzureModelData"}
"""Operations that read no cookie: their callers send a key or a token."""


class Person(Protocol):
    """A caller who does not send a key."""

    caller: Caller

    def headers(self, service: RunningService, numbers: Mapping[str | None, int | None]) -> dict[str, str]:
        """Logs in; returns the headers by which the caller is known. `numbers` are those of the deployments `own` and `other`."""


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Somebody who logs in to the pages with a key."""

    caller: Caller

    def headers(self, service: RunningService, numbers: Mapping[str | None, int | None]) -> dict[str, str]:
        with service.new_client(headers=FROM_OUR_PAGE) as browser:
            browser.post("/login", data={"key": service.key(Role(self.caller.role), numbers[self.caller.bound_to])})
            return with_cookies(browser)


TOKEN_SECONDS = 86_400
"""Lifetime of the tokens of the matrix."""


@dataclass(frozen=True, slots=True)
class IssuersPerson:
    """Somebody whom the issuer knows: in a browser or, with `sends_token`, with an access token."""

    caller: Caller
    issuer: LocalIssuer
    sends_token: bool

    def headers(self, service: RunningService, numbers: Mapping[str | None, int | None]) -> dict[str, str]:  # noqa: ARG002 - of the protocol
        groups = [f"{self.caller.role} {self.caller.bound_to}"]
        self.issuer.subject = {"sub": self.caller.name, "preferred_username": self.caller.name, "groups": groups}
        if self.sends_token:
            # Thousands of requests take minutes on a busy machine.
            return self.issuer.bearer(exp=int(time()) + TOKEN_SECONDS)
        with service.new_client(headers=FROM_OUR_PAGE) as browser:
            log_in_at(self.issuer, browser)
            return with_cookies(browser)


def rules_of_people() -> list[dict[str, str]]:
    """Rules that give the people of the matrix their roles."""
    deployments = {"own": OWN, "other": OTHER}
    return [
        {"claim": "groups", "value": f"{caller.role} {caller.bound_to}", "role": str(caller.role)}
        | ({"deployment": deployments[caller.bound_to]} if caller.bound_to else {})
        for caller in CALLERS
        if caller.role is not None
    ]


def people_of(issuer: LocalIssuer) -> list[Person]:
    """Every kind of caller that sends no key: sessions of keys, and people of the issuer in browsers and with tokens."""
    known = [caller for caller in CALLERS if caller.role is not None]
    browsing = [caller for caller in known if caller.role is not Role.INGEST]
    return [
        *(KeyHolder(replace(caller, name=f"session of {caller.name}")) for caller in browsing),
        *(IssuersPerson(replace(caller, name=f"browser of {caller.name}"), issuer, sends_token=False) for caller in browsing),
        *(IssuersPerson(replace(caller, name=f"token of {caller.name}"), issuer, sends_token=True) for caller in known),
    ]


def with_cookies(browser: httpx.Client) -> dict[str, str]:
    """Returns the headers of a page's requests in that browser, which is logged in."""
    assert "evenhand_session" in browser.cookies
    return {**FROM_OUR_PAGE, "Cookie": f"evenhand_session={browser.cookies['evenhand_session']}"}


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


def try_every_operation(service: RunningService, people: Sequence[Person] = ()) -> Matrix:
    """Asks for every operation as every caller with a key, or as those people, and compares the answers with the table.

    A caller that is let in may get any answer but 401, 403 and those of a failed service: the bodies are empty, most of them are refused.
    """
    numbers = _register(service)
    callers = [(person.caller, person.headers(service, numbers)) for person in people] or _callers(service, numbers)
    operations = list(_operations(service.client.get("/openapi.json").json()))
    ids = {operation.id for operation in operations}
    matrix = Matrix(operations=len(operations), unknown=sorted(ids - RULES.keys()), gone=sorted(RULES.keys() - ids))
    for operation in operations:
        if operation.id in matrix.unknown:
            continue
        for caller, headers in callers:
            expected = RULES[operation.id].refusal(caller)
            if "Cookie" in headers and operation.id in FOR_PROGRAMS:
                expected = 401
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


def _register(service: RunningService) -> dict[str | None, int | None]:
    """Registers the deployments that callers are bound to; returns their numbers."""
    for name in (OWN, OTHER):
        service.client.post("/v1/deployments", json=deployment(id=name, name=name)).raise_for_status()
        service.client.put(f"/v1/deployments/{name}/fairness-monitor", json=monitor()).raise_for_status()
    with service.database.transaction() as session:
        numbers = {row.id: row.no for row in session.execute(select(DeploymentRow.id, DeploymentRow.no))}
    return {"own": numbers[OWN], "other": numbers[OTHER], None: None}


def _callers(service: RunningService, numbers: Mapping[str | None, int | None]) -> list[tuple[Caller, dict[str, str]]]:
    return [(caller, {} if caller.role is None else service.as_(caller.role, numbers[caller.bound_to])) for caller in CALLERS]


def _ask(client: httpx.Client, operation: Operation, headers: dict[str, str]) -> int:
    body: dict[str, Any] | None = {} if operation.method in ("put", "post", "patch") else None
    request = client.build_request(operation.method.upper(), operation.address, headers=headers, json=body)
    if "Authorization" not in headers:
        del request.headers["Authorization"]
    return client.send(request).status_code
