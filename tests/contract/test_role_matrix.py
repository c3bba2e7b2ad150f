"""Every operation of the OpenAPI document against every kind of caller; an operation that the table does not know fails."""

from pathlib import Path

import pytest

from app.access.principals import Role
from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.builders.issuers import running_issuer
from tests.security.matrix import people_of, rules_of_people, try_every_operation
from tests.security.permissions import CALLERS
from tests.service import RunningService, running_service


def test_every_operation_lets_in_those_whom_it_should_and_nobody_else(service: RunningService) -> None:
    matrix = try_every_operation(service)

    assert not matrix.faults, "\n".join(matrix.faults)
    assert matrix.asked >= matrix.operations * (len(CALLERS) - 1)


FEW = {
    *("session of aggregates", "session of read, bound elsewhere", "browser of aggregates", "browser of admin"),
    *("browser of manage, bound elsewhere", "token of ingest", "token of aggregates, bound to it"),
}
"""Kinds of people who are asked for here; `scripts/trial security matrix` asks for all."""


@pytest.mark.nightly
def test_every_operation_lets_in_those_people_whom_it_should_and_nobody_else(database: Database, tmp_path: Path) -> None:
    with running_issuer() as issuer:
        people = [person for person in people_of(issuer) if person.caller.name in FEW]
        with running_service(database, tmp_path, **issuer.settings(*rules_of_people())) as service:
            matrix = try_every_operation(service, people)

    assert len(people) == len(FEW)
    assert not matrix.faults, "\n".join(matrix.faults)
    assert matrix.asked >= matrix.operations * (len(FEW) - 1)


@pytest.mark.parametrize(("role", "status"), [(Role.MANAGE, 204), (Role.ADMIN, 204)])
def test_those_who_may_delete_a_deployment_can(service: RunningService, role: Role, status: int) -> None:
    service.client.post("/v1/deployments", json=deployment(id="short-lived")).raise_for_status()

    assert service.client.delete("/v1/deployments/short-lived", headers=service.as_(role)).status_code == status
