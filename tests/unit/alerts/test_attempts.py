from datetime import UTC, datetime, timedelta

import pytest

from app.alerts.channels.notification import Undelivered, find_pause_after

NOW = datetime(2026, 7, 1, 13, tzinfo=UTC)


def seconds(attempts: int, retry_after: str | None = None) -> float:
    return find_pause_after(attempts, Undelivered(reason="It failed.", retry_after=retry_after), NOW) / timedelta(seconds=1)


def test_pauses_double_up_to_a_quarter_of_an_hour() -> None:
    assert [seconds(attempts) for attempts in (1, 2, 3, 8, 9, 10, 10_000)] == [5, 10, 20, 640, 900, 900, 900]


@pytest.mark.parametrize(
    ("sent", "expected"), [("12", 12), ("0", 5), ("99999999999", 30), ("Wed, 01 Jul 2026 13:00:20 GMT", 20), ("soon", 5), ("-1", 5)]
)
def test_a_receiver_may_ask_for_more_time_within_bounds_but_not_for_less(sent: str, expected: float) -> None:
    assert seconds(1, sent) == expected
