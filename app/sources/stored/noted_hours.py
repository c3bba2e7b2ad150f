"""Notes of hours to which something was added after their end: evidence counts them again."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import insert
from sqlalchemy.orm import Session

from ...database.tables import ChangedHourRow


def note_changed_hours(session: Session, deployment_no: int, hours: Iterable[datetime]) -> None:
    """Notes that something was added to these hours (aware, whole hours in UTC)."""
    rows = [{"deployment_no": deployment_no, "hour": hour} for hour in hours]
    if rows:
        session.execute(insert(ChangedHourRow), rows)
