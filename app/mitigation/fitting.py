"""Learns a deployment's profile from payload: whom copies stand for, how probabilities are read, the model's cut-off, thresholds.

Reads predictions and groups, never labels. Stores nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.classifying import outcome_codes
from app.checks.donors import GroupDonors, donors_of_groups, without_field
from app.checks.grouping import Grouping, group_records
from app.checks.scores import Scores, favourable_scores
from app.checks.window import BEGINNING
from app.domain.checks import Span
from app.domain.deployments import Column, Deployment
from app.domain.groups import NEITHER, groups_of, in_order, positions, typed
from app.domain.mitigation import AttributeProfile, CutOff, MitigationSettings, ParityGoal, Profile
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import Outcome
from app.domain.records import Prediction
from app.domain.training_data import Donors
from app.errors import InvalidInput
from app.mitigation.stand_ins import stand_ins_for
from app.mitigation.thresholds import parity_thresholds
from app.store.arrow import ArrowReader
from app.store.window import VALUE_PREFIX, WindowQuery, answer_of, newest_payload

HALF = 0.5
SEVERAL_CLASSES = "the model has more than two classes, and predicts the one with the greatest probability"
NOT_APART = "favourable and unfavourable predictions overlap in their probabilities, so the model does not decide by them alone"


@dataclass(frozen=True, slots=True, eq=False)
class Payload:
    """The records a profile is learnt from: each one's outcome, its score (NaN where there is none), and its group by attribute."""

    outcomes: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    values: dict[str, pa.ChunkedArray]

    def __len__(self) -> int:
        return len(self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a profile is fitted for. `donors` are those of the meta fields that work through correlated features."""

    deployment: Deployment
    monitor: Monitor
    settings: MitigationSettings
    donors: Mapping[str, Donors]
    basis: str


def fit_profile(reader: ArrowReader, goal: Goal, *, now: datetime) -> Profile:
    """The profile of the newest payload records of the present model, as version 0.

    Raises:
        InvalidInput: a monitored attribute is no column any more, or its groups cannot be told.
    """
    deployment, monitor = goal.deployment, goal.monitor
    attributes = [attribute for attribute in monitor.attributes if goal.settings.mitigates(attribute.feature)]
    columns = {attribute.feature: _column(deployment, attribute.feature) for attribute in attributes}
    query = WindowQuery(deployment.no, deployment.schema, tuple(columns), with_probabilities=True)
    rows = newest_payload(reader, query, Span(start=BEGINNING, end=now), monitor.max_records)
    rows = rows.filter(pa.array(np.array(rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision, pa.bool_()))
    outcomes = outcome_codes(rows["outcome"], monitor.outcomes)
    read = favourable_scores(rows["probability"], rows["outcome"], outcomes, monitor.outcomes)
    scores = np.full(len(outcomes), np.nan) if read.values is None else read.values
    payload = Payload(outcomes, scores, {name: rows[f"{VALUE_PREFIX}{place}"] for place, name in enumerate(columns)})
    learnt = [_attribute(goal, attribute, columns[attribute.feature], payload, read) for attribute in attributes]
    cut_off, unread = _cut_off(payload, read)
    return Profile(
        version=0,
        fitted_at=now,
        basis=goal.basis,
        records=len(payload),
        is_provisional=len(payload) < monitor.min_records,
        attributes=tuple(learnt),
        reading=read.reading,
        cut_off=cut_off,
        unread=unread,
        favourable=_favourable_answer(reader, deployment, rows, outcomes),
    )


def _column(deployment: Deployment, feature: str) -> Column:
    column = deployment.schema.column(feature)
    if column is None:
        raise InvalidInput.of(
            "attributes", f"{feature} is named by the monitor but no longer a column of {deployment.id}; change the monitor"
        )
    return column


def _attribute(goal: Goal, attribute: MonitoredAttribute, column: Column, payload: Payload, read: Scores) -> AttributeProfile:
    values = payload.values[attribute.feature]
    grouping = group_records(_with_reference(attribute, column, values), column, values)
    is_feature = any(one.name == column.name for one in goal.deployment.schema.features)
    stand_ins, covered, reason = stand_ins_for(grouping, values, is_feature=is_feature, donors=_donors(goal, attribute, grouping))
    parity = next((one for one in goal.settings.parity if one.attribute == attribute.feature), None)
    thresholds, untouched = _parity(grouping, payload, parity, read)
    return AttributeProfile(attribute.feature, stand_ins, covered, reason, thresholds, untouched)


def _with_reference(attribute: MonitoredAttribute, column: Column, values: pa.ChunkedArray) -> MonitoredAttribute:
    """The attribute with its reference listed: where it was left out, every other value logged.

    However many these are: most get no copy here, and a window that holds few of them must not fail for what was logged before it.
    """
    if attribute.reference is not None:
        return attribute
    logged = [typed(value, column) for value in values.combine_chunks().dictionary_encode().dictionary.to_pylist()]
    monitored = groups_of(replace(attribute, reference=()), column, (), seen_in="payload")
    placed = zip(logged, positions(monitored, column, logged), strict=True)
    others = sorted({value for value, place in placed if place == NEITHER}, key=in_order)
    return replace(attribute, reference=tuple(others))


def _donors(goal: Goal, attribute: MonitoredAttribute, grouping: Grouping) -> list[GroupDonors] | None:
    if not attribute.correlated_features:
        return None
    if attribute.feature not in goal.donors:
        raise InvalidInput.of(f"attributes.{attribute.feature}.correlated_features", without_field(attribute.feature))
    schema = goal.deployment.schema
    return donors_of_groups(goal.donors[attribute.feature], grouping.groups, grouping.column, schema, attribute.correlated_features)


def _parity(
    grouping: Grouping, payload: Payload, goal: ParityGoal | None, read: Scores
) -> tuple[tuple[tuple[str, float], ...], tuple[tuple[str, str], ...]]:
    if goal is None:
        return (), ()
    if read.values is None:
        return (), tuple((group.label, read.reason) for group in grouping.groups if group.role == "monitored")
    found = parity_thresholds(grouping, payload.outcomes, payload.scores, goal)
    return tuple(found.thresholds.items()), tuple(found.untouched.items())


def _cut_off(payload: Payload, read: Scores) -> tuple[CutOff | None, str | None]:
    """Where the model's scores part its outcomes; or why that cannot be said."""
    if read.reading is None:
        return None, read.reason
    if read.reading.classes:
        return None, SEVERAL_CLASSES
    known = ~np.isnan(payload.scores)
    below = float(payload.scores[known & (payload.outcomes == Outcome.UNFAVOURABLE)].max())
    above = float(payload.scores[known & (payload.outcomes == Outcome.FAVOURABLE)].min())
    if below > above:
        return None, NOT_APART
    return CutOff(HALF if below <= HALF <= above else (below + above) / 2, below, above), None


def _favourable_answer(reader: ArrowReader, deployment: Deployment, rows: pa.Table, outcomes: npt.NDArray[np.int64]) -> Prediction | None:
    """What the model answers most often when it is favourable."""
    favourable = rows["outcome"].filter(pa.array(outcomes == Outcome.FAVOURABLE))
    counts = favourable.value_counts().to_pylist()
    if not counts:
        return None
    most = min(counts, key=lambda count: (-count["counts"], count["values"]))["values"]
    found = answer_of(reader, deployment.no, most)
    if found is None:
        return None
    prediction, label = found
    return Prediction(msgspec.json.decode(prediction), None, None if label is None else msgspec.json.decode(label))
