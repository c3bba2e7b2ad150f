from typing import Any

import pytest

from app.access.principals import Role
from tests.service import RunningService

ADA: dict[str, Any] = {"name": "ada", "password": "four plain words here", "role": "read"}


def test_an_admin_makes_a_user_whose_password_is_never_shown(service: RunningService) -> None:
    made = service.client.post("/v1/users", json=ADA)
    listed = service.client.get("/v1/users")

    assert made.status_code == 201
    assert [user["name"] for user in listed.json()["users"]] == ["ada"]
    assert ADA["password"] not in made.text + listed.text
    assert "argon2" not in made.text + listed.text


def test_a_user_that_cannot_be_is_refused_by_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for change, field in (
        ({"name": "Ada Lovelace"}, "name"),
        ({"name": ""}, "name"),
        ({"password": "short"}, "password"),
        ({"password": "aaaaaaaaaaaaaaaa"}, "password"),
        ({"password": "my name is ada!!"}, "password"),
        ({"password": "x" * 201}, "password"),
        ({"role": "ingest"}, "role"),
        ({"role": "king"}, "role"),
        ({"deployment_id": "none"}, "deployment_id"),
        ({"age": 3}, "age"),
    ):
        with subtests.test(change=change, field=field):
            answer = service.client.post("/v1/users", json=ADA | change)

            assert answer.status_code == 422
            assert field in {error["field"] for error in answer.json()["errors"]}
            assert service.client.get("/v1/users").json()["users"] == []


def test_a_name_is_taken_once(service: RunningService) -> None:
    service.client.post("/v1/users", json=ADA)

    answer = service.client.post("/v1/users", json=ADA)

    assert answer.status_code == 409


def test_a_user_is_changed_by_what_is_sent(service: RunningService) -> None:
    service.client.post("/v1/users", json=ADA)

    changed = service.client.patch("/v1/users/ada", json={"role": "manage", "disabled": True})
    back = service.client.patch("/v1/users/ada", json={"disabled": False, "password": "other plain words"})

    assert (changed.json()["role"], changed.json()["disabled_at"] is None) == ("manage", False)
    assert (back.json()["role"], back.json()["disabled_at"]) == ("manage", None)


def test_only_admins_see_users(service: RunningService) -> None:
    for role in (Role.INGEST, Role.READ, Role.MANAGE):
        assert service.client.get("/v1/users", headers=service.as_(role)).status_code == 403


def test_a_user_who_does_not_exist_is_not_found(service: RunningService) -> None:
    assert service.client.patch("/v1/users/nobody", json={"disabled": True}).status_code == 404
