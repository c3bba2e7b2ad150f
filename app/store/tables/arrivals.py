"""Records that arrived, and those not stored, by hour and source."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Identity, Integer
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class ArrivalRow(Row):
    """Records of one kind that one write stored, by its hour and source.

    Inserted, never updated, so that no write waits; `store/records/arrivals.py` adds rows up. No foreign key, as in `payload_records`.
    """

    __tablename__ = "arrivals"

    deployment_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    source: Mapped[str]
    kind: Mapped[str]
    records: Mapped[int] = mapped_column(BigInteger)


class RejectionCountRow(Row):
    """Records of one hour that were not stored. Holds no value of any record."""

    __tablename__ = "rejection_counts"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    reason: Mapped[str] = mapped_column(primary_key=True)
    field: Mapped[str] = mapped_column(primary_key=True)
    records: Mapped[int] = mapped_column(BigInteger)
