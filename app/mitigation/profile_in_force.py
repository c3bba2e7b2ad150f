"""Rules on mitigation settings; the profile in force, fitted to payload: predictions and groups, no labels.

A monitor that changes later leaves the settings as they are: they go on for the attributes that are left.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from ..access.audit.activity_queries import record_activity
from ..base.errors import FieldProblem, InvalidInput
from ..base.values import Range, Scalar
from ..checks.subject import require_column
from ..checks.window.window import BEGINNING
from ..database.engine import Database, arrow_reader
from ..deployments.mitigation_queries import find_newest_profile, store_profile
from ..deployments.training.queries import Donors, read_donor_digests, read_donors
from ..deployments.training.unseen_groups import (
    GroupDonors,
    describe_missing_field,
    find_donors_of_groups,
    find_representative_donors,
)
from ..domain.check import Span
from ..domain.deployment import Deployment, FieldType
from ..domain.groups import make_sort_key
from ..domain.mitigation import AttributeProfile, CutOff, MitigationSettings, Profile, StandIn
from ..domain.monitor import Monitor, Outcome
from ..domain.ruled_attributes import check_names
from ..sources.arrays.favourable_scores import Scores, classify_answers, read_favourable_scores
from ..sources.arrays.read_records import Grouping, convert_to_type, group_records
from ..sources.stored.window_queries import WindowQuery, name_values, read_newest_payload
from ..statistics.group_labels import IntArray

DEFAULT_CUT_OFF = 0.5
"""Cut-off where it agrees with all predictions that were seen."""

SEVERAL_CLASSES = "the model has more than two classes, and predicts the one with the greatest probability"
OVERLAPPING = (
    "favourable and unfavourable predictions overlap in their probabilities, so the model does not "
    "decide by them alone"
)

MAX_VALUES = 10
"""Reference values that get a copy, those with most records: each is one more copy of every record."""

MAX_DONORS = 20

Changes: TypeAlias = "tuple[tuple[str, Scalar | None], ...]"

QUANTILES = 5
"""Values of a range that get a copy: the middles of that many parts with equally many records."""
NO_REFERENCE = "no reference value is listed, and none has been logged"
NO_DONORS = (
    "the training data keep no record of the reference group, from which copies would take their "
    "correlated features"
)
NOT_SEEN_BY_MODEL = (
    "the model never sees it, and the monitor names no correlated features, so changing it changes no answer"
)


def fit_profile(
    deployment: Deployment,
    monitor: Monitor,
    settings: MitigationSettings,
    *,
    donors: Mapping[str, Donors],
    rows: pa.Table,
    values: pa.Table,
    basis: str,
    now: datetime,
) -> Profile:
    """Fits a profile to the payload records of the present model, as version 0.

    `donors` are those of the meta fields that work through correlated features.
    """
    rule = monitor.outcomes
    schema = deployment.schema
    fitted = []
    is_present = np.array(rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    rows, values = (table.filter(pa.array(is_present, pa.bool_())) for table in (rows, values))
    outcomes = classify_answers(rows["outcome"], rule)
    scores = read_favourable_scores(rows["probability"], rows["outcome"], outcomes, rule)
    mitigated = list_mitigated_attributes(settings, monitor)
    for attribute in monitor.attributes:
        name = attribute.feature
        if name not in mitigated:
            continue
        group_donors = None
        column = require_column(deployment, name)
        # Every other value that was logged is a reference value of its own, without a limit here: most get no
        # copy.
        grouping = group_records(attribute, column, values[name], limit=math.inf)
        if attribute.correlated_features:
            if name not in donors:
                raise InvalidInput(f"attributes.{name}.correlated_features", describe_missing_field(name))
            group_donors = find_donors_of_groups(
                donors[name], grouping.groups, column, schema, attribute.correlated_features
            )
        is_feature = any(feature.name == name for feature in schema.features)
        fitted.append(find_stand_ins(grouping, values[name], is_feature=is_feature, donors=group_donors))
    cut_off, unread = _find_cut_off(outcomes, scores)
    return Profile(
        version=0,
        fitted_at=now,
        basis=basis,
        records=len(outcomes),
        is_provisional=len(outcomes) < monitor.min_records,
        attributes=tuple(fitted),
        reading=scores.reading,
        cut_off=cut_off,
        unread=unread,
    )


def _find_cut_off(outcomes: IntArray, scores: Scores) -> tuple[CutOff | None, str | None]:
    if scores.reading is None or scores.values is None:
        return None, scores.reason
    if scores.reading.classes:
        return None, SEVERAL_CLASSES
    has_score = ~np.isnan(scores.values)
    below = float(scores.values[has_score & (outcomes == Outcome.UNFAVOURABLE)].max())
    above = float(scores.values[has_score & (outcomes == Outcome.FAVOURABLE)].min())
    if below > above:
        return None, OVERLAPPING
    return CutOff(
        DEFAULT_CUT_OFF if below <= DEFAULT_CUT_OFF <= above else (below + above) / 2, below, above
    ), None


def find_stand_ins(
    grouping: Grouping, values: pa.ChunkedArray, *, is_feature: bool, donors: Sequence[GroupDonors] | None
) -> AttributeProfile:
    """Finds copies that represent the reference records; `values` are the logged values of the column.

    Shares are by reference records logged; where there were none, reference values count equally. A meta
    field changes the features correlated with it, to those of its `donors`.
    """
    name = grouping.column.name
    if not is_feature and donors is None:
        return AttributeProfile(name, (), 0.0, NOT_SEEN_BY_MODEL)
    reference = [position for position, group in enumerate(grouping.groups) if group.role == "reference"]
    if not reference:
        return AttributeProfile(name, (), 0.0, NO_REFERENCE)
    counts = np.bincount(grouping.codes + 1, minlength=len(grouping.groups) + 1)[1:][reference].astype(
        np.float64
    )
    shares = counts / counts.sum() if counts.sum() else np.full(len(reference), 1 / len(reference))
    lower_ends = [
        value.lo if isinstance(value, Range) else value
        for value in (grouping.groups[position].value for position in reference)
    ]
    ranked = sorted(
        zip(shares.tolist(), reference, lower_ends, strict=True),
        key=lambda shared: (-shared[0], *make_sort_key(shared[2])),
    )[:MAX_VALUES]
    frequent = [(share, position) for share, position, _ in ranked if share > 0]

    max_group_donors = max(MAX_DONORS // len(frequent), 1)
    stand_ins = []
    represented = 0.0
    covered = 0.0
    for share, position in frequent:
        label = grouping.groups[position].label
        if donors is None:
            represented += share
            covered += share
            stand_ins += [
                StandIn(label, changes, share * portion)
                for changes, portion in _pick_values(grouping, position, values)
            ]
            continue
        lent = find_representative_donors(donors[position], max_group_donors)
        represented += share if lent.combinations else 0.0
        covered += share * lent.covered
        stand_ins += [
            StandIn(label, tuple(changes.items()), share * portion) for portion, changes in lent.combinations
        ]
    if not represented:
        return AttributeProfile(name, (), 0.0, NO_DONORS)
    # Groups without a donor have no stand-in: the shares of the others add up to 1.
    return AttributeProfile(
        name, tuple(replace(stand_in, share=stand_in.share / represented) for stand_in in stand_ins), covered
    )


def _pick_values(grouping: Grouping, position: int, values: pa.ChunkedArray) -> list[tuple[Changes, float]]:
    """Each has its share of the group."""
    value = grouping.groups[position].value
    column = grouping.column
    if not isinstance(value, Range):
        return [(((column.name, convert_to_type(value, column.type)),), 1.0)]
    logged = values.filter(pa.array(grouping.codes == position)).to_numpy()
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    if len(logged):
        quantiles = np.quantile(logged, middles, method="inverted_cdf")
    else:
        # Of a range of which no value has been logged, evenly spread values; whole numbers must not leave it
        # by rounding.
        quantiles = value.lo + middles * (value.hi - value.lo)
        if column.type is FieldType.INTEGER:
            quantiles = np.clip(np.round(quantiles), np.ceil(value.lo), np.floor(value.hi))
    distinct, times = np.unique(quantiles, return_counts=True)
    counted = zip(distinct.tolist(), times.tolist(), strict=True)
    return [
        (((column.name, convert_to_type(number, column.type)),), count / QUANTILES)
        for number, count in counted
    ]


def find_profile_in_force(
    database: Database,
    deployment: Deployment,
    monitor: Monitor,
    settings: MitigationSettings,
    *,
    now: datetime,
) -> Profile:
    """The stored profile if it was fitted for the present model, schema and groups; else fits and stores one.

    A provisional one is fitted again once there are enough records.
    """
    with database.transaction() as session:
        stored = find_newest_profile(session, deployment.no)
        digests = read_donor_digests(session, deployment.no, _list_correlated(monitor))
    if (
        stored is not None
        and not stored.is_provisional
        and stored.basis == _hash_basis(deployment, monitor, settings, digests)
    ):
        return stored
    fitted = _fit_newest(database, deployment, monitor, settings, now=now)

    def is_as_good(newest: Profile) -> bool:
        return newest.basis == fitted.basis and (fitted.is_provisional or not newest.is_provisional)

    with database.transaction() as session:
        return store_profile(session, deployment.no, fitted, unless=is_as_good)


def fit_next_profile(
    database: Database,
    deployment: Deployment,
    monitor: Monitor,
    settings: MitigationSettings,
    *,
    actor: str,
    now: datetime,
) -> Profile:
    """Stores it as the next version, whatever is stored."""
    fitted = _fit_newest(database, deployment, monitor, settings, now=now)
    with database.transaction() as session:
        stored = store_profile(session, deployment.no, fitted, unless=lambda _newest: False)
        details = {"records": [None, stored.records], "is_provisional": [None, stored.is_provisional]}
        record_activity(
            session,
            actor,
            "mitigation_profile.fitted",
            deployment,
            subject=str(stored.version),
            details=details,
        )
        return stored


def _hash_basis(
    deployment: Deployment, monitor: Monitor, settings: MitigationSettings, donor_digests: Mapping[str, str]
) -> str:
    content = {
        "model_revision": deployment.model_revision,
        # Without `classes` as before they existed, so that fitted profiles stay.
        "outputs": {
            name: value
            for name, value in msgspec.to_builtins(deployment.outputs).items()
            if name != "classes" or value
        },
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
        "mitigated": list_mitigated_attributes(settings, monitor),
        "parity": [],  # as digests of earlier releases have it, so that fitted profiles stay
    }
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()


def _fit_newest(
    database: Database,
    deployment: Deployment,
    monitor: Monitor,
    settings: MitigationSettings,
    *,
    now: datetime,
) -> Profile:
    with database.transaction() as session:
        donors = read_donors(session, deployment.no, _list_correlated(monitor))
    digests = {attribute: of_attribute.digest for attribute, of_attribute in donors.items()}
    basis = _hash_basis(deployment, monitor, settings, digests)
    columns = list_mitigated_attributes(settings, monitor)
    query = WindowQuery(deployment.no, deployment.schema, columns, with_probabilities=True)
    with arrow_reader(database) as reader:
        rows = read_newest_payload(reader, query, Span(start=BEGINNING, end=now), monitor.max_records)
    values = name_values(rows, columns)
    return fit_profile(
        deployment, monitor, settings, donors=donors, rows=rows, values=values, basis=basis, now=now
    )


def _list_correlated(monitor: Monitor) -> list[str]:
    return [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]


def find_mitigation_problems(settings: MitigationSettings, monitor: Monitor) -> list[FieldProblem]:
    names = settings.attributes
    if names is None:
        return []
    if not names:
        return [
            FieldProblem(
                "attributes", "must list at least one attribute; leave it out for every monitored one"
            )
        ]
    monitored = {attribute.feature for attribute in monitor.attributes if attribute.rule is None}
    if len(names) > len(monitored):
        message = f"must list at most the {len(monitored)} monitored attributes, found {len(names):,}"
        return [FieldProblem("attributes", message)]
    unknown = "is not one of the monitor's attributes"
    return list(check_names("attributes[{}]", names, monitored, lambda _name: unknown))


def list_mitigated_attributes(settings: MitigationSettings, monitor: Monitor) -> tuple[str, ...]:
    return tuple(
        attribute.feature
        for attribute in monitor.attributes
        if attribute.rule is None and settings.mitigates(attribute.feature)
    )


def list_unused_attributes(settings: MitigationSettings, monitor: Monitor | None) -> tuple[str, ...]:
    monitored = {attribute.feature for attribute in monitor.attributes} if monitor is not None else set()
    return tuple(dict.fromkeys(name for name in settings.attributes or () if name not in monitored))
