"""Encryption of stored secrets under another key, a column at a time, while others use them."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from sqlalchemy import Select, func, select, text, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from ..base.errors import SetupError
from .engine import Sealer
from .tables import AlertChannelRow, DeploymentRow, OpenScaleFactRow

_SEALING_LOCK = 4540261129
"""Shared by all who seal and store, exclusive for one that waits for their end."""


class Resealer(Sealer, Protocol):
    def is_current(self, sealed: bytes) -> bool: ...


class SealedColumn(Enum):
    ENDPOINTS = "endpoint", DeploymentRow.credentials
    COLUMN_KEYS = "protected columns of", DeploymentRow.column_key
    CHANNELS = "alert channel", AlertChannelRow.secret
    PROVIDERS = "OpenScale service provider", OpenScaleFactRow.secrets

    def __init__(self, words: str, column: InstrumentedAttribute[Any]) -> None:
        self.words = words
        self.column = column


@dataclass
class ResealedSecrets:
    """`unreadable` are ids that no known key opens."""

    seen: int = 0
    resealed: int = 0
    unreadable: list[str] = field(default_factory=list)


def begin_sealing(session: Session) -> None:
    session.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": _SEALING_LOCK})


def wait_for_sealing(session: Session) -> None:
    """Waits for transactions that may have sealed with an earlier key; later ones read the new key."""
    session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SEALING_LOCK})


def count_sealed(session: Session) -> int:
    return sum(
        session.scalar(select(func.count()).where(kind.column.is_not(None))) or 0 for kind in SealedColumn
    )


def find_unreadable(session: Session, sealer: Sealer | None) -> list[str]:
    return [
        f"{kind.words} {row_id}"
        for kind in SealedColumn
        for row_id, sealed in session.execute(_select_sealed(kind.column))
        if sealer is None or not _opens(sealer, sealed)
    ]


def reseal_column(session: Session, kind: SealedColumn, sealer: Resealer) -> ResealedSecrets:
    column = kind.column
    row = column.class_
    secrets = ResealedSecrets()
    # FOR NO KEY UPDATE: records are logged meanwhile.
    for row_id, sealed in session.execute(_select_sealed(column).with_for_update(key_share=True)).all():
        secrets.seen += 1
        if sealer.is_current(sealed):
            continue
        try:
            plain = sealer.unseal(sealed)
        except SetupError:
            secrets.unreadable.append(row_id)
            continue
        session.execute(update(row).where(row.id == row_id).values({column: sealer.seal(plain)}))
        secrets.resealed += 1
    return secrets


def _select_sealed(column: InstrumentedAttribute[Any]) -> Select[str, bytes]:
    return select(column.class_.id, column).where(column.is_not(None)).order_by(column.class_.id)


def _opens(sealer: Sealer, sealed: bytes) -> bool:
    try:
        sealer.unseal(sealed)
    except SetupError:
        return False
    return True
