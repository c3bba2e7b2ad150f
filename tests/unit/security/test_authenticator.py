import asyncio
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from app.access import authenticator as authenticator_module
from app.access.authenticator import CACHE_SECONDS, Authenticator
from app.access.principals import Principal, Role
from app.base.errors import Unauthenticated, Unavailable

TOKEN = "t" * 43
KEY = f"Bearer evk_{'a' * 8}_{'b' * 43}"
PRINCIPAL = Principal(actor="a" * 8, role=Role.INGEST, deployment_no=None)


class SlowLookUps(Authenticator):
    """An authenticator whose look-ups end when the test says so, each as the test says."""

    def __init__(self, error: Exception | None = None) -> None:
        self.now = 0.0
        super().__init__(None, clock=lambda: self.now)  # type: ignore[arg-type]  # its database is never asked
        self.begun = 0
        self.may_end = threading.Event()
        self._error = error

    def _look_up_key(self, text: str, secret_hash: bytes) -> Principal:  # noqa: ARG002 - as it is called
        self.begun += 1
        self.may_end.wait()
        if self._error:
            raise self._error
        return PRINCIPAL


async def _waiting(authenticator: SlowLookUps, count: int) -> list["asyncio.Task[Principal]"]:
    tasks = [asyncio.create_task(authenticator.authenticate(KEY)) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)  # each takes a step: asks, and begins its look-up if it is the first
    return tasks


def test_those_who_wait_for_the_same_key_share_one_look_up() -> None:
    authenticator = SlowLookUps()

    async def ask() -> list[Any]:
        tasks = await _waiting(authenticator, 64)
        authenticator.may_end.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(ask()) == [PRINCIPAL] * 64
    assert authenticator.begun == 1


def test_an_error_goes_to_all_who_wait_and_the_next_asks_anew() -> None:
    authenticator = SlowLookUps(Unavailable("gone"))

    async def ask() -> list[Any]:
        tasks = await _waiting(authenticator, 3)
        authenticator.may_end.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return [*found, *await asyncio.gather(authenticator.authenticate(KEY), return_exceptions=True)]

    assert [type(found) for found in asyncio.run(ask())] == [Unavailable] * 4
    assert authenticator.begun == 2


def test_one_who_gives_up_leaves_the_look_up_to_the_others() -> None:
    authenticator = SlowLookUps()

    async def ask() -> Principal:
        first, second = await _waiting(authenticator, 2)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        authenticator.may_end.set()
        return await second

    assert asyncio.run(ask()) == PRINCIPAL
    assert authenticator.begun == 1


def test_a_look_up_that_began_too_long_ago_is_not_believed_by_those_who_come_later() -> None:
    authenticator = SlowLookUps()

    async def ask() -> None:
        tasks = await _waiting(authenticator, 1)
        authenticator.now = CACHE_SECONDS
        tasks += await _waiting(authenticator, 2)
        authenticator.may_end.set()
        await asyncio.gather(*tasks)

    asyncio.run(ask())

    assert authenticator.begun == 2


def test_a_session_that_ends_while_it_is_looked_up_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    is_read, may_end = threading.Event(), threading.Event()

    def find_holder(_session: object, _token: str) -> Principal:
        is_read.set()
        may_end.wait()
        return PRINCIPAL

    monkeypatch.setattr(authenticator_module, "find_holder", find_holder)
    authenticator = Authenticator(SimpleNamespace(transaction=nullcontext))  # type: ignore[arg-type]  # nothing is asked of it

    async def log_out_meanwhile() -> None:
        look_up = asyncio.create_task(authenticator.authenticate(f"Bearer {TOKEN}"))
        await asyncio.to_thread(is_read.wait)
        authenticator.forget_session(TOKEN)
        may_end.set()
        with pytest.raises(Unauthenticated):
            await look_up
        with pytest.raises(Unauthenticated):
            await authenticator.authenticate(f"Bearer {TOKEN}")

    asyncio.run(log_out_meanwhile())
