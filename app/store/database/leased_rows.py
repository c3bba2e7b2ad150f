"""One protocol for rows that are worked on by one process at a time: by a worker, or notifications by a sender.

A claim gives the row a new token and moves its `claimable_at` into the future. A holder that dies stops moving it, so the row becomes
claimable again, and the next token keeps the old holder from writing. All times are the database's, so the clocks of the machines do not
matter.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import func, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from ...errors import LeaseLost
from ..tables import AttributionRow, CheckRow, KeptReportRow, NotificationRow, SubgroupScanRow

LeasedTable: TypeAlias = type[CheckRow] | type[AttributionRow] | type[NotificationRow] | type[SubgroupScanRow] | type[KeptReportRow]

Column = TypeVar("Column")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRow:
    """A row under the token that it was claimed with. `if_lost` is the message of `LeaseLost`."""

    table: LeasedTable
    no: int
    token: str | None
    if_lost: str


def lease_row(session: Session, table: LeasedTable, no: int, *, token: str, lease: timedelta, **values: Any) -> None:  # noqa: ANN401 - columns
    """Gives the row, which the transaction has locked, to the holder of `token`; that counts as an attempt."""
    leased = {"attempts": table.attempts + 1, "lease_token": token, "claimable_at": func.now() + lease, **values}
    session.execute(update(table).where(table.no == no).values(leased).execution_options(synchronize_session=False))


def write_held(session: Session, held: HeldRow, values: dict[str, Any], returning: InstrumentedAttribute[Column]) -> Column:
    """Writes to the row, and locks it until the commit. No other function writes for a holder. Returns the column's value.

    Raises:
        LeaseLost: its token is no longer the stored one; nothing was written.
    """
    # The token fences: the row of a holder that was too slow has another one by now.
    if held.token is not None:
        owned = (held.table.no == held.no, held.table.lease_token == held.token)
        statement = update(held.table).where(*owned).values(values).returning(returning)
        written = session.execute(statement.execution_options(synchronize_session=False)).one_or_none()
        if written is not None:
            return written[0]
    raise LeaseLost(held.if_lost)
