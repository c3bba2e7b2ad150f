"""Records that Evenhand did not get, as senders count them."""

from sqlalchemy.orm import Mapped

from .base import DeploymentKey, Int64, Row, TextKey, TimeKey


class MissingRecordRow(Row):
    """Totals of one sender for one hour of its clock; hours without missing records have no row."""

    __tablename__ = "missing_records"

    deployment_no: Mapped[DeploymentKey]
    hour: Mapped[TimeKey]
    sender: Mapped[TextKey]
    not_received: Mapped[Int64]
    left_out: Mapped[Int64]
    sample_rate: Mapped[float]
