"""The profile in force."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

import msgspec

from ..domain.deployments import Deployment
from ..domain.mitigation import MitigationSettings, Profile
from ..domain.mitigation_rules import mitigated_attributes
from ..domain.monitors import Monitor
from ..store.database.arrow import arrow_reader
from ..store.database.engine import Database
from ..store.mitigation.mitigation import newest_profile, store_profile
from ..store.people.activities import record_activity
from ..store.training.training_data import donor_digests_of, donors_of
from .fitting import Goal, fit_profile


def current_profile(
    database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, now: datetime
) -> Profile:
    """Returns the stored profile if it was fitted for the present model, schema and groups; else fits and stores one.

    A provisional one is fitted again once there are enough records.
    """
    with database.transaction() as session:
        stored = newest_profile(session, deployment.no)
        digests = donor_digests_of(session, deployment.no, _list_correlated(monitor))
    if stored is not None and not stored.is_provisional and stored.basis == _basis(deployment, monitor, settings, digests):
        return stored
    fitted = _fit(database, deployment, monitor, settings, now=now)

    def is_as_good(newest: Profile) -> bool:
        return newest.basis == fitted.basis and (fitted.is_provisional or not newest.is_provisional)

    with database.transaction() as session:
        return store_profile(session, deployment.no, fitted, unless=is_as_good)


def fit_again(
    database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, actor: str, now: datetime
) -> Profile:
    fitted = _fit(database, deployment, monitor, settings, now=now)
    with database.transaction() as session:
        stored = store_profile(session, deployment.no, fitted, unless=lambda _newest: False)
        details = {"records": [None, stored.records], "is_provisional": [None, stored.is_provisional]}
        record_activity(session, actor, "mitigation_profile.fitted", deployment=deployment, subject=str(stored.version), details=details)
        return stored


def _basis(deployment: Deployment, monitor: Monitor, settings: MitigationSettings, donor_digests: Mapping[str, str]) -> str:
    content = {
        "model_revision": deployment.model_revision,
        # Without `classes` as before they existed, so that fitted profiles stay.
        "outputs": {name: value for name, value in msgspec.to_builtins(deployment.outputs).items() if name != "classes" or value},
        "schema_version": deployment.schema.version,
        "outcomes": [monitor.outcomes.favourable, monitor.outcomes.unfavourable],
        "attributes": [
            [
                attribute.feature,
                attribute.monitored,
                attribute.reference,
                [*attribute.correlated_features, donor_digests.get(attribute.feature)],
            ]
            for attribute in monitor.attributes
            if attribute.rule is None
        ],
        "mitigated": mitigated_attributes(settings, monitor),
        "parity": [],  # as digests of earlier releases have it, so that fitted profiles stay
    }
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()


def _fit(database: Database, deployment: Deployment, monitor: Monitor, settings: MitigationSettings, *, now: datetime) -> Profile:
    with database.transaction() as session:
        donors = donors_of(session, deployment.no, _list_correlated(monitor))
    basis = _basis(deployment, monitor, settings, {attribute: one.digest for attribute, one in donors.items()})
    with arrow_reader(database) as reader:
        goal = Goal(deployment=deployment, monitor=monitor, settings=settings, donors=donors, basis=basis)
        return fit_profile(reader, goal, now=now)


def _list_correlated(monitor: Monitor) -> list[str]:
    return [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
