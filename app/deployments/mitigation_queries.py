"""Settings of mitigation, profiles, and bias detectors with their models as bytes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, RowMapping, Select, func, select, text
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session

from ..base.errors import require_present
from ..base.values import frozen_by_name
from ..database.binary_rows import list_column_values, page_newest
from ..database.tables import (
    BiasDetectorRow,
    CheckRow,
    DeploymentRow,
    MitigationProfileRow,
    MitigationSettingsRow,
)
from ..domain.mitigation import MitigationSettings, Profile
from ..domain.paging import Paging

ALL_TOGETHER = ""


@frozen_by_name
class QualityFigure:
    value: float | None
    lower: float | None = None
    upper: float | None = None
    method: str | None = None
    n: int
    reason: str | None = None


@frozen_by_name
class DetectorQuality:
    roc_auc: QualityFigure
    precision: QualityFigure
    recall: QualityFigure
    selected: QualityFigure


@frozen_by_name
class DetectorCounts:
    """`records` and `biased` are before the newest were picked; the others of those used."""

    records: int
    biased: int
    used: int
    used_biased: int
    held_out: int
    held_out_biased: int


@frozen_by_name
class TrainedDetector:
    """One training for an attribute: `threshold` and `quality`, or the `reason` for none.

    `made_by` is what its model can be read with.
    """

    attribute: str
    counts: DetectorCounts
    made_by: str
    threshold: float | None = None
    quality: DetectorQuality | None = None
    reason: str | None = None


@frozen_by_name
class DetectorVersion(TrainedDetector):
    """A stored training. A detector of another `basis` is of no use."""

    version: int
    basis: str
    check_id: str
    trained_at: datetime


_PROFILE_LOCK = 0x6D697467
"""First key of the advisory locks under which profiles are numbered; the second is the deployment."""


def read_mitigation_settings(session: Session, deployment_no: int) -> MitigationSettings:
    row = session.get(MitigationSettingsRow, deployment_no)
    return (
        MitigationSettings()
        if row is None
        else msgspec.convert(row.settings | {"version": row.version}, MitigationSettings)
    )


def store_mitigation_settings(
    session: Session, deployment_no: int, settings: MitigationSettings
) -> MitigationSettings:
    content = list_column_values(settings)
    del content["version"]
    present = read_mitigation_settings(session, deployment_no)
    if present.version and present == replace(settings, version=present.version):
        return present
    insertion = insert(MitigationSettingsRow).values(deployment_no=deployment_no, version=1, settings=content)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=[MitigationSettingsRow.deployment_no],
            set_={
                "version": MitigationSettingsRow.version + 1,
                "settings": content,
                "updated_at": func.now(),
            },
        )
    )
    # The statement went past the session's objects.
    session.expire_all()
    return read_mitigation_settings(session, deployment_no)


def find_newest_profile(session: Session, deployment_no: int) -> Profile | None:
    profiles = select(MitigationProfileRow.profile).where(MitigationProfileRow.deployment_no == deployment_no)
    stored = session.scalar(profiles.order_by(MitigationProfileRow.version.desc()).limit(1))
    return None if stored is None else msgspec.convert(stored, Profile)


def require_profile(session: Session, deployment_no: int, version: int) -> Profile:
    row = require_present(
        session.get(MitigationProfileRow, (deployment_no, version)), "mitigation profile", version
    )
    return msgspec.convert(row.profile, Profile)


def store_profile(
    session: Session, deployment_no: int, fitted: Profile, *, unless: Callable[[Profile], bool]
) -> Profile:
    """Returns the newest profile if `unless` accepts it; else stores the fitted one as the next version."""
    # Else the deployment could be deleted before the profile is there.
    locked = (
        select(DeploymentRow.no)
        .where(DeploymentRow.no == deployment_no)
        .with_for_update(read=True, key_share=True)
    )
    require_present(session.scalar(locked), "deployment", f"number {deployment_no}")
    keys = {"lock": _PROFILE_LOCK, "no": deployment_no}
    session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), keys)
    # After the lock: another process may have stored one.
    newest = find_newest_profile(session, deployment_no)
    if newest is not None and unless(newest):
        return newest
    numbered = replace(fitted, version=1 if newest is None else newest.version + 1)
    session.add(
        MitigationProfileRow(
            deployment_no=deployment_no,
            version=numbered.version,
            basis=numbered.basis,
            fitted_at=numbered.fitted_at,
            profile=numbered,
        )
    )
    session.flush()
    return numbered


@frozen_by_name
class NewDetector(TrainedDetector):
    model: bytes | None = None


def store_detectors(
    session: Session,
    deployment_no: int,
    detectors: Sequence[NewDetector],
    *,
    check_no: int,
    basis: str,
    trained_at: datetime,
) -> None:
    if not detectors:
        return
    # No two are equal: one check of a deployment runs at a time.
    newest = session.scalar(
        select(func.max(BiasDetectorRow.version)).where(BiasDetectorRow.deployment_no == deployment_no)
    )
    rows = [
        {
            "deployment_no": deployment_no,
            "version": (newest or 0) + 1,
            "check_no": check_no,
            "basis": basis,
            "trained_at": trained_at,
            "training": {name: getattr(detector, name) for name in ("counts", "made_by", "threshold")},
        }
        | {name: getattr(detector, name) for name in ("attribute", "quality", "reason", "model")}
        for detector in detectors
    ]
    session.execute(insert(BiasDetectorRow), rows)


def find_newest_detectors(
    session: Session, deployment_no: int, basis: str, *conditions: ColumnElement[bool]
) -> dict[str, DetectorVersion]:
    statement = (
        _select_versions(deployment_no)
        .where(BiasDetectorRow.basis == basis, *conditions)
        .ext(distinct_on(BiasDetectorRow.attribute))
    )
    rows = session.execute(statement.order_by(BiasDetectorRow.attribute, BiasDetectorRow.version.desc()))
    return {version.attribute: version for version in map(_read_version, rows.mappings())}


def find_usable_versions(session: Session, deployment_no: int, basis: str) -> dict[str, int]:
    detectors = find_newest_detectors(session, deployment_no, basis, BiasDetectorRow.model.is_not(None))
    return {attribute: detector.version for attribute, detector in detectors.items()}


def find_detector_model(
    session: Session, deployment_no: int, *, attribute: str, version: int
) -> bytes | None:
    return session.scalar(
        select(BiasDetectorRow.model).where(
            BiasDetectorRow.deployment_no == deployment_no,
            BiasDetectorRow.attribute == attribute,
            BiasDetectorRow.version == version,
        )
    )


def page_detectors(session: Session, deployment_no: int, paging: Paging) -> list[list[DetectorVersion]]:
    versions = (
        select(BiasDetectorRow.version).where(BiasDetectorRow.deployment_no == deployment_no).distinct()
    )
    numbers = page_newest(versions, BiasDetectorRow.version, paging)
    statement = _select_versions(deployment_no).where(BiasDetectorRow.version.in_(numbers))
    trainings: dict[int, list[DetectorVersion]] = {}
    rows = session.execute(statement.order_by(BiasDetectorRow.version.desc(), BiasDetectorRow.attribute))
    for version in map(_read_version, rows.mappings()):
        trainings.setdefault(version.version, []).append(version)
    return list(trainings.values())


def _select_versions(deployment_no: int) -> Select[*tuple[Any, ...]]:
    row = BiasDetectorRow
    return (
        select(
            row.version,
            row.attribute,
            row.basis,
            row.trained_at,
            row.training,
            row.quality,
            row.reason,
            CheckRow.id.label("check_id"),
        )
        .join(CheckRow, CheckRow.no == row.check_no)
        .where(row.deployment_no == deployment_no)
    )


def _read_version(row: RowMapping) -> DetectorVersion:
    return msgspec.convert({**row, **row["training"]}, DetectorVersion)
