"""Mitigation: settings, what was fitted, flagged records."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentKey, Row, StoredAt, TextKey


class MitigationSettingsRow(Row):
    """Settings of one deployment; without a row, the defaults."""

    __tablename__ = "mitigation_settings"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int]
    settings: Mapped[dict[str, Any]]
    updated_at: Mapped[StoredAt]


class MitigationProfileRow(Row):
    """One version of what was fitted to payload. `basis` is a digest of its purpose."""

    __tablename__ = "mitigation_profiles"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int] = mapped_column(primary_key=True)
    basis: Mapped[str]
    fitted_at: Mapped[datetime]
    profile: Mapped[dict[str, Any]]


class BiasDetectorRow(Row):
    """One version of an attribute's bias detector; of all together, `attribute` is empty.

    Either `model` and its `quality` on held-out records, or the `reason` why none was trained.
    """

    __tablename__ = "bias_detectors"
    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int] = mapped_column(primary_key=True)
    attribute: Mapped[TextKey]
    check_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("checks.no", ondelete="CASCADE"), index=True)
    basis: Mapped[str]
    trained_at: Mapped[datetime]
    training: Mapped[dict[str, Any]]
    quality: Mapped[dict[str, Any] | None]
    reason: Mapped[str | None]
    model: Mapped[bytes | None]


class FlaggedRecordRow(Row):
    """A payload record whose outcome would be another with a reference value of the attribute (`kind` changed), or probably (likely).

    Scores are probabilities of the favourable outcome: its own, and as a reference record; `gap` is their distance, or 0.
    """

    __tablename__ = "flagged_records"
    __table_args__ = (Index("flagged_records_gap_idx", "deployment_no", text("gap DESC"), "record_no", "attribute"),)

    deployment_no: Mapped[DeploymentKey]
    record_no: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    attribute: Mapped[TextKey]
    logged_at: Mapped[datetime]
    model_revision: Mapped[str]
    group: Mapped[str]
    kind: Mapped[str]
    direction: Mapped[str]
    own_score: Mapped[float | None]
    reference_score: Mapped[float | None]
    gap: Mapped[float]
    bias_score: Mapped[float | None]
    check_no: Mapped[int] = mapped_column(BigInteger, ForeignKey("checks.no", ondelete="CASCADE"), index=True)
