import pytest

from app.access.throttle import FAILURE_WINDOW_SECONDS, MAX_FAILURES_OF_ADDRESS, MAX_FAILURES_OF_NAME, Throttle
from app.base.errors import TooManyTries


def test_failures_of_one_name_and_address_hold_up_only_them_and_only_for_a_while() -> None:
    now = 0.0
    throttle = Throttle(clock=lambda: now)
    for _ in range(MAX_FAILURES_OF_NAME):
        throttle.admit("ada", "10.0.0.1")
        throttle.note_failure("ada", "10.0.0.1")

    with pytest.raises(TooManyTries, match="in 5 minutes"):
        throttle.admit("ada", "10.0.0.1")
    throttle.admit("ada", "10.0.0.2")
    throttle.admit("bob", "10.0.0.1")
    now = FAILURE_WINDOW_SECONDS
    throttle.admit("ada", "10.0.0.1")


def test_a_success_forgets_the_failures_before() -> None:
    throttle = Throttle(clock=lambda: 0.0)
    for _ in range(MAX_FAILURES_OF_NAME - 1):
        throttle.note_failure("ada", "10.0.0.1")
    throttle.note_success("ada", "10.0.0.1")

    throttle.note_failure("ada", "10.0.0.1")

    throttle.admit("ada", "10.0.0.1")


def test_failures_of_many_names_hold_up_their_address_whatever_succeeds_meanwhile() -> None:
    throttle = Throttle(clock=lambda: 0.0)
    for no in range(MAX_FAILURES_OF_ADDRESS):
        throttle.admit(f"name {no}", "10.0.0.1")
        throttle.note_failure(f"name {no}", "10.0.0.1")
        throttle.note_success("own", "10.0.0.1")

    with pytest.raises(TooManyTries, match="from your address"):
        throttle.admit("ada", "10.0.0.1")
    throttle.admit("ada", "10.0.0.2")


def test_made_up_names_do_not_make_room_for_more_tries_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.access.throttle._MAX_COUNTED_KEYS", 4)
    throttle = Throttle(clock=lambda: 0.0)
    for _ in range(MAX_FAILURES_OF_NAME):
        throttle.note_failure("ada", "10.0.0.1")

    for no in range(100):
        throttle.note_failure(f"made up {no}", "10.0.0.1")

    with pytest.raises(TooManyTries):
        throttle.admit("ada", "10.0.0.1")
