"""Work of people on alerts: each call is recorded, and sends one notification for a channel."""

from collections.abc import Iterable, Sequence

from sqlalchemy.orm import Session

from ..access.audit.activity_queries import record_activity
from ..base.values import frozen
from ..deployments.queries import Deployments
from ..domain.alert import Alert, ClosingReason, Event
from .channels.notification_queries import queue_notifications
from .lifecycle import close_by_hand
from .queries import acknowledge, assign


@frozen(eq=False)
class Work:
    """Each function returns how many alerts it changed; resolved ones stay as they are."""

    session: Session
    deployments: Deployments
    actor: str

    def acknowledge(self, alerts: Iterable[Alert], note: str | None) -> int:
        """The first person counts."""
        changed = [
            acknowledged
            for alert in _in_order(alerts)
            if (acknowledged := acknowledge(self.session, alert, by=self.actor, note=note)) is not None
        ]
        queue_notifications(self.session, Event.ACKNOWLEDGED, changed)
        return self._record("alert.acknowledged", changed, {"note": note})

    def assign(self, alerts: Iterable[Alert], assignee: str | None) -> int:
        changed = [alert for alert in _in_order(alerts) if assign(self.session, alert, assignee) is not None]
        return self._record("alert.assigned", changed, {"assignee": assignee})

    def close(self, alerts: Sequence[Alert], note: str, reason: ClosingReason | None) -> int:
        """The first person counts. Raises Conflict where one has no evidence."""
        for deployment_id in sorted({alert.deployment_id for alert in alerts}):
            self.deployments.get_for_change(deployment_id)
        closed = close_by_hand(self.session, alerts, by=self.actor, note=note, reason=reason)
        return self._record("alert.closed", closed, {"note": note, "reason": reason and reason.value})

    def _record(self, action: str, alerts: Sequence[Alert], details: dict[str, object]) -> int:
        for alert in alerts:
            deployment = self.deployments.by_no(alert.deployment_no)
            record_activity(self.session, self.actor, action, deployment, subject=alert.id, details=details)
        return len(alerts)


def _in_order(alerts: Iterable[Alert]) -> list[Alert]:
    """In the order of their numbers, as all code locks alerts."""
    return sorted({alert.no: alert for alert in alerts}.values(), key=lambda alert: alert.no)
