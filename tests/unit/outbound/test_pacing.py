"""Rate limit, back-off and Retry-After, on a clock that the tests move."""

import asyncio
from datetime import UTC, datetime

import pytest

from app.calls.scoring.ask_page import MAX_WAIT_SECONDS, Pacer, backoff_seconds, retry_after_seconds
from tests.builders.fake_time import FakeTime

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_requests_leave_evenly_spaced() -> None:
    time = FakeTime()
    pacer = Pacer(4.0, time.timing)
    left: list[float] = []

    async def send() -> None:
        await pacer.turn()
        left.append(time.seconds)

    async def send_five() -> None:
        for _ in range(5):
            await send()

    asyncio.run(send_five())

    assert left == [100.0, 100.25, 100.5, 100.75, 101.0]


def test_idle_time_is_not_saved_up_for_a_burst() -> None:
    time = FakeTime()
    pacer = Pacer(1.0, time.timing)

    async def send_after_a_pause() -> None:
        await pacer.turn()
        time.seconds += 60
        await pacer.turn()
        await pacer.turn()

    asyncio.run(send_after_a_pause())

    assert time.slept == [1.0]


def test_without_a_limit_nobody_waits() -> None:
    time = FakeTime()
    pacer = Pacer(None, time.timing)

    async def send_many() -> None:
        for _ in range(100):
            await pacer.turn()

    asyncio.run(send_many())

    assert time.slept == []


def test_a_hold_makes_everybody_wait() -> None:
    time = FakeTime()
    pacer = Pacer(None, time.timing)
    pacer.hold(7.0)

    asyncio.run(pacer.turn())

    assert time.slept == [7.0]


@pytest.mark.parametrize(("attempt", "low", "high"), [(1, 0.25, 0.5), (2, 0.5, 1.0), (3, 1.0, 2.0)])
def test_back_off_doubles_and_differs_by_page(attempt: int, low: float, high: float) -> None:
    waits = [backoff_seconds(attempt, page) for page in range(50)]

    assert all(low <= wait <= high for wait in waits)
    assert len(set(waits)) == 50
    assert waits == [backoff_seconds(attempt, page) for page in range(50)]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        (" 0 ", 0.0),
        ("86400", MAX_WAIT_SECONDS),
        ("9" * 5000, MAX_WAIT_SECONDS),
        ("Thu, 01 Jan 2026 00:00:05 GMT", 5.0),
        ("Thu, 01 Jan 2026 00:00:05 -0000", 5.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("Fri, 02 Jan 2026 00:00:00 GMT", MAX_WAIT_SECONDS),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("", None),
        ("²", None),
    ],
)
def test_retry_after_is_read_in_both_forms_and_bounded(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOW) == seconds
