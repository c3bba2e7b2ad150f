"""Reported calls of models, and counts of them."""

from datetime import datetime

from sqlalchemy.orm import Mapped

from .base import DeploymentKey, Int64, Row, TextKey, TimeKey


class CallHalfRow(Row):
    __tablename__ = "call_halves"

    deployment_no: Mapped[DeploymentKey]
    call_id: Mapped[TextKey]
    side: Mapped[TextKey]
    source: Mapped[str]
    received_at: Mapped[datetime]
    stated_at: Mapped[datetime | None]
    content_type: Mapped[str]
    encoding: Mapped[str]
    body: Mapped[bytes]


class IntakeCountRow(Row):
    """Records (of unpaired and ignored ones: events) of one hour and outcome, and the last reason."""

    __tablename__ = "intake_counts"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    source: Mapped[TextKey]
    outcome: Mapped[TextKey]
    count: Mapped[Int64]
    reason: Mapped[str | None]
