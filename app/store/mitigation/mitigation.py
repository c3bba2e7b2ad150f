"""Stored mitigation: the settings of a deployment, and every version of what was fitted for it."""

from collections.abc import Callable
from dataclasses import asdict, replace

import msgspec
from sqlalchemy import Select, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.mitigation import DetectorUse, MitigationSettings, Mode, ParityGoal, Profile
from ...errors import NotFound
from ..tables import DeploymentRow, MitigationProfileRow, MitigationSettingsRow

_LOCK = 0x6D697467
"""The first key of the advisory locks under which profiles are fitted, one at a time for each deployment."""


def settings_of(session: Session, deployment_no: int) -> MitigationSettings:
    """Returns the deployment's settings; the defaults if none were set."""
    row = session.get(MitigationSettingsRow, deployment_no)
    if row is None:
        return MitigationSettings()
    stored = row.settings
    attributes = stored["attributes"]
    return MitigationSettings(
        mode=Mode(stored["mode"]),
        attributes=None if attributes is None else tuple(attributes),
        parity=tuple(ParityGoal(**goal) for goal in stored["parity"]),
        bias_detector=DetectorUse(stored["bias_detector"]),
        version=row.version,
    )


def put_settings(session: Session, deployment_no: int, settings: MitigationSettings) -> MitigationSettings:
    """Stores the settings and returns them with their version, which grows only if the content differs."""
    content = {
        "mode": settings.mode.value,
        "attributes": None if settings.attributes is None else list(settings.attributes),
        "parity": [asdict(goal) for goal in settings.parity],
        "bias_detector": settings.bias_detector.value,
    }
    row = session.get(MitigationSettingsRow, deployment_no)
    if row is not None and row.settings == content:
        return settings_of(session, deployment_no)
    insertion = insert(MitigationSettingsRow).values(deployment_no=deployment_no, version=1, settings=content)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=[MitigationSettingsRow.deployment_no],
            set_={"version": MitigationSettingsRow.version + 1, "settings": content, "updated_at": func.now()},
        )
    )
    # The statement went past the objects that the session holds.
    session.expire_all()
    return settings_of(session, deployment_no)


def newest_profile(session: Session, deployment_no: int) -> Profile | None:
    """Returns the profile that counts, whatever it was fitted for."""
    row = session.scalars(_profiles(deployment_no).limit(1)).first()
    return None if row is None else _profile(row)


def profiles_of(session: Session, deployment_no: int, *, before_version: int | None, limit: int) -> list[Profile]:
    """Returns the versions, newest first, at most `limit`; with `before_version`, the older ones."""
    statement = _profiles(deployment_no)
    if before_version is not None:
        statement = statement.where(MitigationProfileRow.version < before_version)
    return [_profile(row) for row in session.scalars(statement.limit(limit))]


def store_profile(session: Session, deployment_no: int, fitted: Profile, *, unless: Callable[[Profile], bool]) -> Profile:
    """Stores a fitted profile as the next version, unless the newest one of another process will do; returns the one that counts.

    Raises:
        NotFound: the deployment was deleted meanwhile.
    """
    present = select(DeploymentRow.no).where(DeploymentRow.no == deployment_no).with_for_update(read=True, key_share=True)
    if session.scalar(present) is None:
        raise NotFound("deployment", f"number {deployment_no}")
    session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no})
    # Read only now: another process may have stored one while this one waited for the lock.
    newest = newest_profile(session, deployment_no)
    if newest is not None and unless(newest):
        return newest
    numbered = replace(fitted, version=1 if newest is None else newest.version + 1)
    session.add(
        MitigationProfileRow(
            deployment_no=deployment_no,
            version=numbered.version,
            basis=numbered.basis,
            fitted_at=numbered.fitted_at,
            profile=msgspec.to_builtins(numbered),
        )
    )
    session.flush()
    return numbered


def _profiles(deployment_no: int) -> Select[MitigationProfileRow]:
    return (
        select(MitigationProfileRow)
        .where(MitigationProfileRow.deployment_no == deployment_no)
        .order_by(MitigationProfileRow.version.desc())
    )


def _profile(row: MitigationProfileRow) -> Profile:
    return msgspec.convert(row.profile, Profile)
