"""Encryption of stored secrets under another key, a batch at a time, while others read and write them."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

from sqlalchemy import func, select, text, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from ...errors import SetupError
from ..tables import AlertChannelRow, DeploymentRow
from .sealer import Sealer

BATCH_ROWS = 200
"""Max rows that one transaction locks and writes."""

_SEALING = 4540261129
"""Key of the advisory lock on sealing."""

_SealedRow: TypeAlias = type[DeploymentRow] | type[AlertChannelRow]


class Resealer(Sealer, Protocol):
    """Encrypts secrets with one key and opens those of several."""

    def is_current(self, sealed: bytes) -> bool:
        """Returns whether it was sealed with the key that seals now."""


class SealedColumn(Enum):
    """The columns that hold sealed secrets, by the words for them."""

    ENDPOINTS = "endpoint"
    COLUMNS = "protected columns of"
    CHANNELS = "alert channel"

    @property
    def row(self) -> _SealedRow:
        """Returns the row class."""
        return AlertChannelRow if self is SealedColumn.CHANNELS else DeploymentRow

    @property
    def column(self) -> InstrumentedAttribute[Any]:
        """Returns the column of the sealed bytes."""
        columns: dict[SealedColumn, InstrumentedAttribute[Any]] = {
            SealedColumn.ENDPOINTS: DeploymentRow.credentials,
            SealedColumn.COLUMNS: DeploymentRow.column_key,
            SealedColumn.CHANNELS: AlertChannelRow.secret,
        }
        return columns[self]


@dataclass(slots=True)
class ResealedBatch:
    """Result of one batch. `unreadable` are the ids of rows that no known key opens; `last_no` is None after the last row."""

    seen: int = 0
    resealed: int = 0
    unreadable: list[str] = field(default_factory=list)
    last_no: int | None = None


def begin_sealing(session: Session) -> None:
    """Announces that a secret is about to be sealed and stored by this transaction; see `wait_for_sealing`."""
    session.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": _SEALING})


def wait_for_sealing(session: Session) -> None:
    """Returns when every transaction that may have sealed with an earlier key has ended.

    The others wait meanwhile. They read the key after this lock, so what they seal is sealed with the new one.
    """
    session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SEALING})


def count_sealed(session: Session) -> int:
    """Returns the number of stored secrets."""
    return sum(session.scalar(select(func.count()).where(kind.column.is_not(None))) or 0 for kind in SealedColumn)


def reseal_batch(session: Session, kind: SealedColumn, sealer: Resealer, *, after_no: int) -> ResealedBatch:
    """Encrypts the next rows after `after_no` under the sealer's present key, those aside that are so already."""
    row, column = kind.row, kind.column
    batch = ResealedBatch()
    statement = select(row.no, row.id, column).where(column.is_not(None), row.no > after_no).order_by(row.no).limit(BATCH_ROWS)
    # FOR NO KEY UPDATE: records are logged meanwhile, and a person who changes the row waits for this transaction.
    for no, name, sealed in session.execute(statement.with_for_update(key_share=True)).all():
        batch.seen += 1
        batch.last_no = no
        if sealer.is_current(sealed):
            continue
        try:
            plain = sealer.unseal(sealed)
        except SetupError:
            batch.unreadable.append(name)
            continue
        session.execute(update(row).where(row.no == no).values({column: sealer.seal(plain)}))
        batch.resealed += 1
    return batch
