"""Records that Evenhand did not get, as senders count them."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class MissingRecordRow(Row):
    """Totals of one sender for one hour of its clock; hours without missing records have no row."""

    __tablename__ = "missing_records"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    sender: Mapped[str] = mapped_column(primary_key=True)
    not_received: Mapped[int] = mapped_column(BigInteger)
    left_out: Mapped[int] = mapped_column(BigInteger)
    sample_rate: Mapped[float]
