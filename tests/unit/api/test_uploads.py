import asyncio
from typing import Any, Self

import pytest
from starlette.requests import Request

from app.base.errors import EvenhandError, InvalidInput, Unavailable
from app.base.turns import Room
from app.main import is_upload
from app.web.body import spool_body


def request_of(*messages: dict[str, Any]) -> Request:
    waiting = iter(messages)

    async def receive() -> Any:  # noqa: ANN401 - ASGI's messages
        return next(waiting)

    return Request({"type": "http", "method": "PUT", "path": "/", "headers": []}, receive)


def received(request: Request, places: int = 1) -> bytes:
    async def read() -> bytes:
        async with spool_body(
            request, room=Room(places, each=1, busy="Too many uploads", busy_each="Wait"), actor="a", max_bytes=100
        ) as file:
            return file.read()

    return asyncio.run(read())


def part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def test_the_parts_of_a_body_become_one_file() -> None:
    assert received(request_of(part(b"a,b\n", more=True), part(b"1,2\n", more=False))) == b"a,b\n1,2\n"


def test_an_upload_beyond_the_places_there_are_is_turned_away_before_its_body_is_read() -> None:
    with pytest.raises(Unavailable, match="Too many uploads"):
        received(request_of(), places=0)


def test_a_client_that_goes_away_leaves_nothing() -> None:
    with pytest.raises(InvalidInput, match="body: did not arrive completely"):
        received(request_of(part(b"a,b\n", more=True), {"type": "http.disconnect"}))


def test_a_full_disk_is_no_fault_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, **_: object) -> None:
            pass

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.web.body.TemporaryFile", Full)
    with pytest.raises(EvenhandError, match="no room on the disk"):
        received(request_of(part(b"a", more=False)))


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("PUT", "/v1/deployments/a/training-data", True),
        ("POST", "/v1/deployments/a/training-data", False),
        ("PUT", "/v1/deployments/a/fairness-monitor", False),
        ("PUT", "/v1/deployments/a/b/training-data", False),
        ("PUT", "/v1/deployments/a/training-data/measurements", False),
    ],
)
def test_only_the_upload_limits_its_body_itself(method: str, path: str, *, expected: bool) -> None:
    assert is_upload({"type": "http", "method": method, "path": path}) is expected
