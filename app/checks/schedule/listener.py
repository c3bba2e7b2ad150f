"""The address of the service, for workers elsewhere, and the installation's name."""

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from ...database.tables import ListenerRow

_ONLY = 1


def record_listener(session: Session, exposed_on: str | None) -> None:
    """Notes the address on which other machines reach the service; None: loopback only."""
    values = {"exposed_on": exposed_on, "started_at": func.now()}
    session.execute(
        insert(ListenerRow)
        .values(no=_ONLY, **values)
        .on_conflict_do_update(index_elements=[ListenerRow.no], set_=values)
    )


def exposed_on(session: Session) -> str | None:
    """Returns the address that was noted last; None also if the service never started."""
    return session.scalar(select(ListenerRow.exposed_on).where(ListenerRow.no == _ONLY))


def name_installation(session: Session) -> str | None:
    """Returns a name that only this database has; None where the server does not let everybody read it."""
    named = "SELECT system_identifier || ' ' || oid FROM pg_control_system(), pg_database"
    try:
        with session.begin_nested():
            return str(session.scalar(text(f"{named} WHERE datname = current_database()")))
    except ProgrammingError:
        return None
