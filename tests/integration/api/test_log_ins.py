"""Log-in of a program by a person's name and password."""

from typing import Any

from tests.service import RunningService

ADA: dict[str, Any] = {"name": "ada", "password": "four plain words here", "role": "read"}


def test_the_token_of_a_log_in_is_sent_like_a_key(service: RunningService) -> None:
    service.client.post("/v1/users", json=ADA)

    made = service.new_client().post("/v1/log-ins", json={"name": "ada", "password": ADA["password"]})
    me = service.new_client().get("/v1/me", headers={"Authorization": f"Bearer {made.json()['token']}"})

    assert made.status_code == 201
    assert (me.json()["actor"], me.json()["role"]) == ("user:ada", "read")


def test_a_wrong_password_is_refused_and_counts_against_the_address(service: RunningService) -> None:
    service.client.post("/v1/users", json=ADA)
    tries = [service.new_client().post("/v1/log-ins", json={"name": "ada", "password": "not it"}).status_code for _ in range(12)]

    assert tries[0] == 401
    assert tries[-1] == 429


def test_a_name_that_no_database_takes_is_refused(service: RunningService) -> None:
    assert service.new_client().post("/v1/log-ins", json={"name": "a\0b", "password": "x"}).status_code == 422
