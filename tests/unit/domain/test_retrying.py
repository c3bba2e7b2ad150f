from datetime import UTC, datetime, timedelta

import pytest

from app.alerts.channels.notification import GIVE_UP_AFTER, Notification, NotificationState, choose_state_after_failure
from app.checks.lease_queries import CHECK_POLICY, CheckPolicy
from app.domain.alert import Event
from app.domain.check import CheckRun, CheckState, Span, Trigger

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)


def check(trigger: Trigger, attempts: int) -> CheckRun:
    return CheckRun(
        no=1,
        id="1",
        deployment_no=1,
        deployment_id="credit-risk",
        trigger=trigger,
        state=CheckState.RUNNING,
        span=Span(start=NOW - timedelta(hours=1), end=NOW),
        attempts=attempts,
        lease_token="1",  # noqa: S106 - a fence, no secret
        progress=None,
        reason=None,
        window=None,
        created_at=NOW,
        started_at=NOW,
        finished_at=None,
        next_attempt_at=None,
    )


@pytest.mark.parametrize(
    ("trigger", "state", "follow"),
    [
        (Trigger.SCHEDULE, CheckState.SUCCEEDED, True),
        (Trigger.REQUEST, CheckState.FAILED, True),
        (Trigger.SCHEDULE, CheckState.INSUFFICIENT_DATA, True),
        (Trigger.REQUEST, CheckState.CANCELLED, False),
        (Trigger.RANGE, CheckState.SUCCEEDED, False),
    ],
)
def test_alerts_follow_each_end_but_that_of_a_range_or_a_cancelled_check(trigger: Trigger, state: CheckState, follow: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    assert CHECK_POLICY.alerts_follow(check(trigger, 1), state) is follow


def notification(event: Event, created_at: datetime) -> Notification:
    return Notification(
        no=1,
        id="1",
        channel_no=1,
        channel_id="on-call",
        alert_ids=(),
        event=event,
        body={},
        state=NotificationState.WAITING,
        attempts=1,
        next_attempt_at=NOW,
        last_error=None,
        created_at=created_at,
        sent_at=None,
    )


def test_a_scheduled_check_is_tried_again_after_each_pause_and_then_no_more() -> None:
    attempts = range(1, CHECK_POLICY.max_attempts + 1)
    pauses = [CHECK_POLICY.retry_after(check(Trigger.SCHEDULE, attempt)) for attempt in attempts]

    assert pauses == [*CHECK_POLICY.retry_delays, None]


def test_a_policy_without_pauses_allows_one_attempt() -> None:
    once = CheckPolicy(retry_delays=())

    assert once.max_attempts == 1
    assert once.retry_after(check(Trigger.SCHEDULE, 1)) is None


@pytest.mark.parametrize("trigger", [Trigger.REQUEST, Trigger.RANGE])
def test_a_check_that_somebody_asked_for_is_not_tried_again(trigger: Trigger) -> None:
    assert CHECK_POLICY.retry_after(check(trigger, 1)) is None


@pytest.mark.parametrize(
    ("event", "age", "is_refused", "state"),
    [
        (Event.OPENED, timedelta(), False, NotificationState.WAITING),
        (Event.OPENED, timedelta(), True, NotificationState.REFUSED),
        (Event.OPENED, GIVE_UP_AFTER - timedelta(seconds=1), False, NotificationState.WAITING),
        (Event.OPENED, GIVE_UP_AFTER, False, NotificationState.GIVEN_UP),
        (Event.OPENED, GIVE_UP_AFTER, True, NotificationState.GIVEN_UP),
        (Event.TEST, timedelta(), False, NotificationState.GIVEN_UP),
    ],
)
def test_a_failed_notification_is_tried_again_unless_it_is_a_test_or_too_old(
    event: Event, age: timedelta, *, is_refused: bool, state: NotificationState
) -> None:
    assert choose_state_after_failure(notification(event, NOW - age), is_refused=is_refused, now=NOW) is state
