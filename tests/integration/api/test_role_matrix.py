"""Every operation of the OpenAPI document against every kind of caller; an operation that the table does not know fails."""

import pytest

from app.security.principals import Role
from tests.builders.bodies import deployment
from tests.security.matrix import try_every_operation
from tests.security.permissions import CALLERS
from tests.service import RunningService


def test_every_operation_lets_in_those_whom_it_should_and_nobody_else(service: RunningService) -> None:
    matrix = try_every_operation(service)

    assert not matrix.faults, "\n".join(matrix.faults)
    assert matrix.asked >= matrix.operations * (len(CALLERS) - 1)


@pytest.mark.parametrize(("role", "status"), [(Role.MANAGE, 204), (Role.ADMIN, 204)])
def test_those_who_may_delete_a_deployment_can(service: RunningService, role: Role, status: int) -> None:
    service.client.post("/v1/deployments", json=deployment(id="short-lived")).raise_for_status()

    assert service.client.delete("/v1/deployments/short-lived", headers=service.as_(role)).status_code == status
