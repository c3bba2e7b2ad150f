"""Audit events. A trigger refuses to change or delete them; only sealing fills position and hash, once."""

from typing import Any

from sqlalchemy import BigInteger, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row, RowNo, StoredAt


class AuditEventRow(Row):
    """One audited event. No foreign keys: it outlives everything it is about."""

    __tablename__ = "audit_events"
    __table_args__ = (
        Index("audit_events_deployment_id_no_idx", "deployment_id", "no"),
        Index("audit_events_unsealed_idx", "no", postgresql_where=text("position IS NULL")),
    )

    no: Mapped[RowNo]
    at: Mapped[StoredAt]
    actor: Mapped[str]
    action: Mapped[str]
    outcome: Mapped[str]
    address: Mapped[str]
    request_id: Mapped[str]
    route: Mapped[str]
    deployment_id: Mapped[str | None]
    subject: Mapped[str | None]
    details: Mapped[dict[str, Any]]
    position: Mapped[int | None] = mapped_column(BigInteger, unique=True)
    hash: Mapped[bytes | None]
