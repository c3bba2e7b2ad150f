"""Files of a deployment's tables as they were last listed."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class SeenFileRow(Row):
    """One file of the table `payload` or `feedback`; `first_at` and `last_at` are the times of its rows, NULL without a row."""

    __tablename__ = "seen_files"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    table_name: Mapped[str] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    modified_ns: Mapped[int] = mapped_column(BigInteger)
    first_at: Mapped[datetime | None]
    last_at: Mapped[datetime | None]
