"""Files of tables as last listed."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class ListedFileRow(Row):
    """One file of a deployment's table; `side` is `payload` or `feedback`.

    `batch` is the partition in its path. Its rows lie from `oldest` to `newest`, both included. NULL: none.
    """

    __tablename__ = "listed_files"
    __table_args__ = (Index("listed_files_newest_idx", "deployment_no", "side", "newest"),)

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    side: Mapped[str] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    modified_ns: Mapped[int] = mapped_column(BigInteger)
    batch: Mapped[str | None]
    oldest: Mapped[datetime | None]
    newest: Mapped[datetime | None]
