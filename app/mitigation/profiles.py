"""The profile that counts: the stored one if it was fitted for what holds now, else one fitted and stored at once."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy.orm import Session

from app.domain.deployments import Deployment
from app.domain.mitigation import MitigationSettings, Profile
from app.domain.monitors import Monitor
from app.domain.values import GroupValue, Range
from app.mitigation.fitting import Goal, fit_profile
from app.mitigation.thresholds import MET
from app.store.activities import record_activity
from app.store.arrow import arrow_reader
from app.store.correlations import donor_digests_of, donors_of
from app.store.engine import Database
from app.store.mitigation import newest_profile, store_profile


def current_profile(
    database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, now: datetime
) -> Profile:
    """The stored profile if it was fitted for the present model, schema, groups and goals; else one is fitted and stored.

    A provisional one is fitted again once there are records enough.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    with database.transaction() as session:
        stored = stored_profile(session, deployment, monitor, settings)
    if stored is not None and not stored.is_provisional:
        return stored
    fitted = _fitted(database, deployment, monitor, settings, now=now)

    def will_do(newest: Profile) -> bool:
        # One more provisional version would teach nothing: the answers to the same request stay the same.
        return newest.basis == fitted.basis and (fitted.is_provisional or not newest.is_provisional)

    with database.transaction() as session:
        return store_profile(session, deployment.no, fitted, unless=will_do)


def completed_profile(
    database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, now: datetime
) -> Profile:
    """The current profile; where a goal could not be learnt for want of records, it is fitted again, and stored if it knows more.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    current = current_profile(database, deployment, monitor, settings, now=now)
    if not _unlearnt(current) or current.records >= monitor.max_records:
        return current
    fitted = _fitted(database, deployment, monitor, settings, now=now)

    def will_do(newest: Profile) -> bool:
        return newest.basis != fitted.basis or _unlearnt(newest) <= _unlearnt(fitted)

    with database.transaction() as session:
        return store_profile(session, deployment.no, fitted, unless=will_do)


def _unlearnt(profile: Profile) -> int:
    """How many groups have no threshold though they have a goal, and do not meet it as they are."""
    return sum(reason != MET for attribute in profile.attributes for _, reason in attribute.untouched)


def stored_profile(session: Session, deployment: Deployment, monitor: Monitor, settings: MitigationSettings) -> Profile | None:
    """The newest stored profile, if it was fitted for what holds now. Nothing is fitted."""
    stored = newest_profile(session, deployment.no)
    digests = donor_digests_of(session, deployment.no, _through(monitor))
    return stored if stored is not None and stored.basis == _basis(deployment, monitor, settings, digests) else None


def fit_anew(
    database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, actor: str, now: datetime
) -> Profile:
    """A further version from the newest payload, whatever is stored, since `actor` asked for it.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    fitted = _fitted(database, deployment, monitor, settings, now=now)
    with database.transaction() as session:
        stored = store_profile(session, deployment.no, fitted, unless=lambda _newest: False)
        learnt = {"records": [None, stored.records], "is_provisional": [None, stored.is_provisional]}
        record_activity(session, actor, "mitigation_profile.fitted", deployment=deployment, subject=str(stored.version), details=learnt)
        return stored


def _basis(deployment: Deployment, monitor: Monitor, settings: MitigationSettings, donor_digests: Mapping[str, str]) -> str:
    """A digest of everything that a profile is fitted for."""
    content = {
        "model_revision": deployment.model_revision,
        "outputs": msgspec.to_builtins(deployment.outputs),
        "schema_version": deployment.schema.version,
        "outcomes": [_listed(monitor.outcomes.favourable), _listed(monitor.outcomes.unfavourable)],
        "attributes": [
            [
                attribute.feature,
                _listed(attribute.monitored),
                None if attribute.reference is None else _listed(attribute.reference),
                [*attribute.correlated_features, donor_digests.get(attribute.feature)],
            ]
            for attribute in monitor.attributes
        ],
        "mitigated": [attribute.feature for attribute in monitor.attributes if settings.mitigates(attribute.feature)],
        "parity": [msgspec.to_builtins(goal) for goal in settings.parity],
    }
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()


def _fitted(database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, now: datetime) -> Profile:
    with database.transaction() as session:
        donors = donors_of(session, deployment.no, _through(monitor))
    basis = _basis(deployment, monitor, settings, {attribute: one.digest for attribute, one in donors.items()})
    with arrow_reader(database.url) as reader:
        goal = Goal(deployment=deployment, monitor=monitor, settings=settings, donors=donors, basis=basis)
        return fit_profile(reader, goal, now=now)


def _through(monitor: Monitor) -> list[str]:
    """The meta fields that work through correlated features."""
    return [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]


def _listed(values: tuple[GroupValue, ...]) -> list[object]:
    return [[value.lo, value.hi] if isinstance(value, Range) else value for value in values]
