"""Settings of mitigation, and all that was fitted."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.mitigation import MitigationSettings, Profile
from ...errors import require_present
from ..tables import DeploymentRow, MitigationProfileRow, MitigationSettingsRow

_LOCK = 0x6D697467
"""First key of the advisory locks on fitting, one for each deployment."""


def settings_of(session: Session, deployment_no: int) -> MitigationSettings:
    row = session.get(MitigationSettingsRow, deployment_no)
    if row is None:
        return MitigationSettings()
    return msgspec.convert(row.settings | {"version": row.version}, MitigationSettings)


def put_settings(session: Session, deployment_no: int, settings: MitigationSettings) -> MitigationSettings:
    """Stores the settings; their version grows only if the content differs."""
    content = {name: member for name, member in msgspec.to_builtins(settings).items() if name != "version"}
    present = settings_of(session, deployment_no)
    if present.version and present == replace(settings, version=present.version):
        return present
    insertion = insert(MitigationSettingsRow).values(deployment_no=deployment_no, version=1, settings=content)
    session.execute(
        insertion.on_conflict_do_update(
            index_elements=[MitigationSettingsRow.deployment_no],
            set_={"version": MitigationSettingsRow.version + 1, "settings": content, "updated_at": func.now()},
        )
    )
    # The statement went past the session's objects.
    session.expire_all()
    return settings_of(session, deployment_no)


def newest_profile(session: Session, deployment_no: int) -> Profile | None:
    """Returns the profile that counts, whatever it was fitted for."""
    row = MitigationProfileRow
    newest = select(row.profile).where(row.deployment_no == deployment_no).order_by(row.version.desc()).limit(1)
    stored = session.scalar(newest)
    return None if stored is None else msgspec.convert(stored, Profile)


def profile_of(session: Session, deployment_no: int, version: int) -> Profile:
    """Returns the profile, or raises NotFound."""
    row = require_present(session.get(MitigationProfileRow, (deployment_no, version)), "mitigation profile", version)
    return msgspec.convert(row.profile, Profile)


def store_profile(session: Session, deployment_no: int, fitted: Profile, *, unless: Callable[[Profile], bool]) -> Profile:
    """Stores a profile as the next version, unless another process's newest will do; returns the one that counts."""
    present = select(DeploymentRow.no).where(DeploymentRow.no == deployment_no).with_for_update(read=True, key_share=True)
    require_present(session.scalar(present), "deployment", f"number {deployment_no}")
    session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no})
    # After the lock: another process may have stored one.
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
