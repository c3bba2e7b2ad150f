"""Protocol for rows that one process at a time works on.

A claim gives the row a new token and moves `claimable_at` into the future. After its holder's death the row
becomes claimable again; the next token keeps the old holder from writing. Times are the database's.
"""

from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import case, func, literal, text, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from ..base.errors import LeaseLost
from ..base.values import frozen_by_name
from .tables import AttributionRow, CheckRow
from .tables.base import QueuedRow

Column = TypeVar("Column")


@frozen_by_name
class HeldRow:
    table: type[QueuedRow]
    no: int
    token: str | None
    if_lost: str


def lease_row(
    session: Session,
    table: type[QueuedRow],
    no: int,
    *,
    token: str,
    lease: timedelta,
    **values: Any,  # noqa: ANN401 - columns
) -> None:
    """Counts an attempt. The transaction has locked the row."""
    leased = {
        "attempts": table.attempts + 1,
        "lease_token": token,
        "claimable_at": func.now() + lease,
        **values,
    }
    session.execute(update(table).where(table.no == no).values(leased))


def write_held(
    session: Session, held: HeldRow, values: dict[str, Any], returning: InstrumentedAttribute[Column]
) -> Column:
    """Locks the row until the commit; the only function that writes for a holder.

    Raises LeaseLost if its token is no longer the stored one; nothing was written.
    """
    # The row of a holder that was too slow has another token.
    if held.token is not None:
        owned = (held.table.no == held.no, held.table.lease_token == held.token)
        statement = update(held.table).where(*owned).values(values).returning(returning)
        written = session.execute(statement).one_or_none()
        if written is not None:
            return written[0]
    raise LeaseLost(held.if_lost)


_IS_AHEAD = "claimable_at > now() + interval '1 hour'"


def shorten_waits(session: Session) -> None:
    """Ends waits, leases and sessions that began while the database's clock was ahead: no wait lasts an hour,
    no session a day.
    """
    # The hours come again.
    session.execute(
        text(
            "DELETE FROM checks WHERE claimable_at > now() AND span_end > now() AND trigger = 'schedule' "
            "AND state = 'queued'"
        )
    )
    for table in QueuedRow.__subclasses__():
        session.execute(update(table).where(text(_IS_AHEAD)).values(claimable_at=func.now()))
    session.execute(
        text(
            "UPDATE sessions SET expires_at = now() + interval '12 hours' WHERE expires_at > now() + "
            "interval '1 day'"
        )
    )


def returned_values(table: type[CheckRow] | type[AttributionRow]) -> dict[str, Any]:
    """Does not count the attempt; cancelled work ends."""
    # The row as it is now: a cancellation may have come since.
    cancelled = table.cancel_requested
    return {
        "state": case((cancelled, literal("cancelled")), else_=literal("queued")),
        "claimable_at": case((cancelled, None), else_=func.now()),
        "finished_at": case((cancelled, func.now()), else_=None),
        "attempts": table.attempts - 1,
        "lease_token": None,
        "progress": None,
        "started_at": None,
    }
