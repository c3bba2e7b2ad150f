"""The ASGI middleware under FastAPI: the service reads what passed by, and the application does not notice."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from evenhand_client import Evenhand, EvenhandMiddleware, Report
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from app.access.principals import Role
from tests.service import RunningService

from .stored import stored_ids

TABLE = {"fields": ["sex", "income"], "values": [["female", 42_000], ["male", 10_000]]}
ANSWER = {"fields": ["prediction", "probability"], "values": [[0, 0.1], [1, 0.9]]}

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def client(service: RunningService) -> Iterator[Evenhand]:
    service.application.listen()
    with Evenhand(service.base_url, service.key(Role.INGEST), "loans") as client:
        yield client


def application(client: Evenhand) -> httpx.AsyncClient:
    app = FastAPI()
    app.add_middleware(EvenhandMiddleware, client=client, paths=["/score", "/fail", "/stream", "/refuse"])

    @app.post("/score")
    async def score(body: dict[str, Any]) -> dict[str, Any]:
        assert body["fields"] == TABLE["fields"]
        return ANSWER

    @app.post("/other")
    async def other() -> dict[str, Any]:
        return ANSWER

    @app.post("/fail")
    async def fail() -> None:
        raise LookupError("the model failed")

    @app.post("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(iter(["{}"] + ["x" * 1_000_000] * 5))

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://model")


async def test_a_request_and_its_answer_become_records(client: Evenhand, service: RunningService) -> None:
    async with application(client) as model:
        answers = [await model.post("/score", json=TABLE) for _ in range(3)]
        await model.post("/other", json=TABLE)

    assert [answer.json() for answer in answers] == [ANSWER] * 3
    assert client.flush() == Report(sent=6)
    expected = [f"{answer.headers['evenhand-id']}-{row}" for answer in answers for row in (1, 2)]
    assert stored_ids(service.database) == dict.fromkeys(expected, 1)
    record = service.client.get(f"/v1/deployments/loans/payload-records/{expected[1]}").json()
    assert (record["features"], record["prediction"], record["probability"]) == ({"sex": "male", "income": 10_000}, 1, 0.9)


async def test_a_model_that_raises_still_raises_and_nothing_is_logged(client: Evenhand) -> None:
    async with application(client) as model:
        with pytest.raises(LookupError, match="the model failed"):
            await model.post("/fail", json=TABLE)

    assert client.flush() == Report()


async def test_an_answer_that_cannot_be_logged_passes_and_is_counted(client: Evenhand) -> None:
    async with application(client) as model:
        answer = await model.post("/stream", json=TABLE)

    assert len(answer.content) == 5_000_002
    assert client.flush().dropped == 1


async def test_a_service_that_is_down_is_not_noticed(service: RunningService) -> None:
    client = Evenhand("http://127.0.0.1:9", service.key(Role.INGEST), "loans")
    async with application(client) as model:
        answer = await model.post("/score", json=TABLE)

    assert (answer.status_code, answer.json()) == (200, ANSWER)
    assert client.close(0).dropped == 1
