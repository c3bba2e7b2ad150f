"""Records that arrived, and those not stored, by hour and source."""

from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentKey, Int64, Row, RowNo, TextKey, TimeKey


class ArrivalRow(Row):
    """Records of one kind that one write stored, by its hour and source.

    Inserted, never updated, so that no write waits; `store/records/arrivals.py` adds rows up. No foreign key, as in `payload_records`.
    """

    __tablename__ = "arrivals"

    deployment_no: Mapped[int] = mapped_column(primary_key=True)
    hour: Mapped[TimeKey]
    no: Mapped[RowNo]
    source: Mapped[str]
    kind: Mapped[str]
    records: Mapped[Int64]


class RejectionCountRow(Row):
    """Records of one hour that were not stored. Holds no value of any record."""

    __tablename__ = "rejection_counts"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    source: Mapped[TextKey]
    kind: Mapped[TextKey]
    reason: Mapped[TextKey]
    field: Mapped[TextKey]
    records: Mapped[Int64]
