"""Advice about one check."""

from sqlalchemy.orm import Session

from ...database.engine import current_time
from ...deployments.monitor.queries import find_monitor
from ...domain.check import CheckRun
from ...domain.monitor import Schedule
from ..queries import under_way
from ..schedule.worker_queries import workers_seen
from .advice import Advice, Outlook, next_due, of_check, write_advice


def read_outlook(session: Session, deployment_no: int) -> Outlook:
    """Outlook on the database's clock."""
    monitor, busy = find_monitor(session, deployment_no), under_way(session, deployment_no)
    schedule = None if monitor is None else monitor.schedule
    return Outlook(
        workers=workers_seen(session),
        due_at=next_due(current_time(session), schedule),
        by_files=schedule is Schedule.BATCH,
        under_way=None if busy is None else busy.state,
    )


def advice_on_check(check: CheckRun, outlook: Outlook) -> Advice:
    return write_advice(of_check(check, outlook))
