"""Reported calls of models, and counts of them."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class CallHalfRow(Row):
    """A request or an answer that waits for the other half."""

    __tablename__ = "call_halves"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    call_id: Mapped[str] = mapped_column(primary_key=True)
    side: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str]
    received_at: Mapped[datetime]
    stated_at: Mapped[datetime | None]
    content_type: Mapped[str]
    encoding: Mapped[str]
    body: Mapped[bytes]


class IntakeCountRow(Row):
    """Records (of unpaired and ignored ones: events) of one hour and outcome, and the last reason."""

    __tablename__ = "intake_counts"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    outcome: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
    reason: Mapped[str | None]
