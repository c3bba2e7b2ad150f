"""Leases of checks, and retries after a failed attempt."""

from datetime import timedelta

from ...base.frozen import frozen_by_name
from ...domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, Trigger


@frozen_by_name
class CheckPolicy:
    """Rules for checks that do not succeed at once.

    `lease`: silence of a worker after which another one takes its check over. `retry_delays`: pauses after
    the failed attempts at a check of the schedule or of late files.
    """

    lease: timedelta = timedelta(seconds=30)
    retry_delays: tuple[timedelta, ...] = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))

    @property
    def max_attempts(self) -> int:
        """Max attempts at one check, those that a dying worker interrupted included."""
        return len(self.retry_delays) + 1

    def retry_after(self, check: CheckRun) -> timedelta | None:
        """Returns the pause after the failed attempt; None if the failure is final, as it is for requested
        checks and ranges.
        """
        if check.trigger not in {Trigger.SCHEDULE, Trigger.FILES} or check.attempts >= self.max_attempts:
            return None
        return self.retry_delays[check.attempts - 1]

    def alerts_follow(self, check: CheckRun, state: CheckState) -> bool:
        """Returns whether alerts are decided after this end."""
        return check.trigger in PRESENT_TRIGGERS and state is not CheckState.CANCELLED


CHECK_POLICY = CheckPolicy()
