"""Leases of checks and notifications, and retries after a failed attempt."""

from datetime import datetime, timedelta

from ..frozen import frozen
from .alerts import Event
from .checks import PRESENT_TRIGGERS, CheckRun, CheckState, Trigger
from .notifications import Notification, NotificationState

NOTIFICATION_LEASE = timedelta(seconds=60)
"""Silence of a sender after which its notification is sent again: at least twice as long as an attempt may take."""

GIVE_UP_AFTER = timedelta(days=3)

KEPT = timedelta(days=90)
"""Min time that a notification is kept. While its alert is open it is kept, so that the alert is not sent twice."""


@frozen(kw_only=True)
class CheckPolicy:
    """Rules for checks that do not succeed at once.

    `lease`: silence of a worker after which another one takes its check over. `retry_delays`: pauses after the failed attempts at a check
    of the schedule or of late files. `alerted_triggers`: triggers of the checks after whose end alerts are decided, unless cancelled.
    """

    lease: timedelta = timedelta(seconds=30)
    retry_delays: tuple[timedelta, ...] = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
    alerted_triggers: tuple[Trigger, ...] = PRESENT_TRIGGERS

    @property
    def max_attempts(self) -> int:
        """Max attempts at one check, those that a dying worker interrupted included."""
        return len(self.retry_delays) + 1

    @property
    def interrupted_reason(self) -> str:
        return (
            f"The check was interrupted {self.max_attempts} times before it could end: its worker stopped, or lost the database. "
            "The logs of the workers say why; queue it again once they run."
        )

    def retry_after(self, check: CheckRun) -> timedelta | None:
        """Returns the pause after the failed attempt; None if the failure is final, as it is for requested checks and ranges."""
        if check.trigger not in {Trigger.SCHEDULE, Trigger.FILES} or check.attempts >= self.max_attempts:
            return None
        return self.retry_delays[check.attempts - 1]

    def alerts_follow(self, check: CheckRun, state: CheckState) -> bool:
        return check.trigger in self.alerted_triggers and state is not CheckState.CANCELLED


CHECK_POLICY = CheckPolicy()


def state_after_failure(notification: Notification, *, is_refused: bool, now: datetime) -> NotificationState:
    """Returns the state of the notification after a failed attempt.

    Unlike a waiting one, a refused one does not hold up the later notifications of its channel.
    """
    # A test is not repeated: the page that sent it shows its result.
    if notification.event is Event.TEST or now - notification.created_at >= GIVE_UP_AFTER:
        return NotificationState.GIVEN_UP
    return NotificationState.REFUSED if is_refused else NotificationState.WAITING
