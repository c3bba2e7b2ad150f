"""The example's client names an address that does not answer, the attempts, and what to do."""

import threading

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import Unavailable
from app.cli import import_service
from app.cli.example.story import PausingClient
from tests.builders.page_words import says


def test_an_address_that_never_answers_is_named_with_the_attempts(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    asked = []

    def time_out(_: httpx.Client, method: str, path: str, **__: object) -> httpx.Response:
        asked.append((method, path))
        raise httpx.ReadTimeout("")

    monkeypatch.setattr(import_service, "PAUSE_SECONDS", (0, 0))
    monkeypatch.setattr(httpx.Client, "request", time_out)

    with pytest.raises(Unavailable) as raised:
        PausingClient("http://127.0.0.1:8000", threading.Event()).ask("GET", "/health/ready")

    assert len(asked) == 3
    assert says(text := str(raised.value), "http://127.0.0.1:8000/health/ready", "3 attempts", "ReadTimeout")
    assert text == snapshot
