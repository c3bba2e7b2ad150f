"""Versions of bias detectors, their models as bytes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, Select, func, insert, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from ...domain.bias_detectors import DetectorCounts, DetectorQuality, DetectorVersion
from ...domain.paging import Paging
from ...frozen import frozen
from ..database.paging import page_newest
from ..database.rows import read_row
from ..tables import BiasDetectorRow, CheckRow


@frozen(kw_only=True)
class NewDetector:
    """Result of a training for one attribute, or the `reason` why there is none."""

    attribute: str
    counts: DetectorCounts
    made_by: str
    threshold: float | None = None
    quality: DetectorQuality | None = None
    model: bytes | None = None
    reason: str | None = None


def store_detectors(
    session: Session, deployment_no: int, detectors: Sequence[NewDetector], *, check_no: int, basis: str, trained_at: datetime
) -> None:
    """Stores one training as the next version, unless it is empty."""
    if not detectors:
        return
    # No two are equal: one check of a deployment runs at a time.
    newest = session.scalar(select(func.max(BiasDetectorRow.version)).where(BiasDetectorRow.deployment_no == deployment_no))
    rows = [
        {
            "deployment_no": deployment_no,
            "version": (newest or 0) + 1,
            "check_no": check_no,
            "basis": basis,
            "trained_at": trained_at,
            "attribute": detector.attribute,
            "training": {
                "counts": msgspec.to_builtins(detector.counts),
                "made_by": detector.made_by,
                "threshold": detector.threshold,
            },
            "quality": msgspec.to_builtins(detector.quality),
            "reason": detector.reason,
            "model": detector.model,
        }
        for detector in detectors
    ]
    session.execute(insert(BiasDetectorRow), rows)


def newest_detectors(session: Session, deployment_no: int, basis: str) -> dict[str, DetectorVersion]:
    """Returns the newest versions for that basis, trained or refused, by attribute."""
    statement = _versions(deployment_no).where(BiasDetectorRow.basis == basis).ext(distinct_on(BiasDetectorRow.attribute))
    rows = session.execute(statement.order_by(BiasDetectorRow.attribute, BiasDetectorRow.version.desc()))
    return {found.attribute: found for found in map(_version, rows)}


def usable_versions(session: Session, deployment_no: int, basis: str) -> dict[str, int]:
    statement = (
        select(BiasDetectorRow.attribute, BiasDetectorRow.version)
        .where(BiasDetectorRow.deployment_no == deployment_no, BiasDetectorRow.basis == basis, BiasDetectorRow.model.is_not(None))
        .ext(distinct_on(BiasDetectorRow.attribute))
        .order_by(BiasDetectorRow.attribute, BiasDetectorRow.version.desc())
    )
    return dict(session.execute(statement).all())


def model_of(session: Session, deployment_no: int, *, attribute: str, version: int) -> bytes | None:
    return session.scalar(
        select(BiasDetectorRow.model).where(
            BiasDetectorRow.deployment_no == deployment_no, BiasDetectorRow.attribute == attribute, BiasDetectorRow.version == version
        )
    )


def detector_page(session: Session, deployment_no: int, paging: Paging) -> list[list[DetectorVersion]]:
    """Returns trainings by their version, newest first; all attributes together first."""
    versions = select(BiasDetectorRow.version).where(BiasDetectorRow.deployment_no == deployment_no).distinct()
    wanted = page_newest(versions, BiasDetectorRow.version, paging)
    statement = _versions(deployment_no).where(BiasDetectorRow.version.in_(wanted))
    trainings: dict[int, list[DetectorVersion]] = {}
    for row in session.execute(statement.order_by(BiasDetectorRow.version.desc(), BiasDetectorRow.attribute)):
        found = _version(row)
        trainings.setdefault(found.version, []).append(found)
    return list(trainings.values())


def _versions(deployment_no: int) -> Select[Any]:
    """Without the models, which are large."""
    row = BiasDetectorRow
    return (
        select(row.version, row.attribute, row.basis, row.trained_at, row.training, row.quality, row.reason, CheckRow.id.label("check_id"))
        .join(CheckRow, CheckRow.no == row.check_no)
        .where(row.deployment_no == deployment_no)
    )


def _version(row: Row[Any]) -> DetectorVersion:
    training = row.training
    return read_row(
        DetectorVersion,
        row,
        counts=msgspec.convert(training["counts"], DetectorCounts),
        made_by=training["made_by"],
        threshold=training["threshold"],
    )
