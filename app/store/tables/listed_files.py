"""Files of tables as last listed."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped

from .base import DeploymentKey, Int64, Row, TextKey


class ListedFileRow(Row):
    """One file of a deployment's table; `side` is `payload` or `feedback`.

    `batch` is the partition in its path. Its rows lie from `oldest` to `newest`, both included. NULL: none.
    """

    __tablename__ = "listed_files"
    __table_args__ = (Index("listed_files_newest_idx", "deployment_no", "side", "newest"),)

    deployment_no: Mapped[DeploymentKey]
    side: Mapped[TextKey]
    path: Mapped[TextKey]
    bytes: Mapped[Int64]
    modified_ns: Mapped[Int64]
    batch: Mapped[str | None]
    oldest: Mapped[datetime | None]
    newest: Mapped[datetime | None]
