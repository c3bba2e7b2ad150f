"""Sends open alerts to a channel that was added later."""

from sqlalchemy.orm import Session

from ...base.errors import NotFound
from ...domain.alert import Event
from ..rules.rules import lock_alerts
from .bodies import OpenAlertsSentOut
from .channel import Channel
from .notification_queries import concerned_deployments, count_open, lock_open_alerts, queue_alerts
from .channel import find_channel_for_change

MOST_AT_ONCE = 500


def send_open_alerts(
    session: Session, channel: Channel, *, rule_no: int | None = None, again: bool = False
) -> OpenAlertsSentOut:
    """`again` includes alerts sent before.

    Doing it twice, also at the same time, sends nothing twice.
    """
    # Order of locks everywhere: alerts of deployments, then channels.
    for deployment_no in concerned_deployments(session, channel, rule_no):
        lock_alerts(session, deployment_no)
    if find_channel_for_change(session, channel.id) is None:
        raise NotFound("alert channel", channel.id)
    waiting = lock_open_alerts(session, channel, rule_no, with_sent=again)
    queue_alerts(session, channel.no, Event.OPENED, waiting[:MOST_AT_ONCE])
    queued = min(len(waiting), MOST_AT_ONCE)
    sent_before = count_open(session, channel, rule_no) - len(waiting)
    return OpenAlertsSentOut(queued=queued, sent_before=sent_before, left=len(waiting) - queued)
