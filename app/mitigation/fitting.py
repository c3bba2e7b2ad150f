"""Fits a deployment's profile to payload: predictions and groups, never labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..checks.donors import describe_missing_field, donors_of_groups
from ..checks.subject import require_column
from ..checks.window import BEGINNING
from ..domain.checks import Span
from ..domain.deployments import Column, Deployment
from ..domain.groups import in_order
from ..domain.mitigation import AttributeProfile, CutOff, MitigationSettings, Profile
from ..domain.monitors import Monitor, MonitoredAttribute
from ..domain.outcomes import Outcome
from ..domain.training_data import Donors
from ..domain.values import Scalar
from ..errors import InvalidInput
from ..records.cells import stored_cells
from ..records.grouping import ListedGroups, group_records
from ..records.outcomes import outcome_codes
from ..records.scores import Scores, favourable_scores
from ..store.database.arrow import ArrowReader
from ..store.records.window import VALUE_PREFIX, WindowQuery, newest_payload
from .stand_ins import find_stand_ins

HALF = 0.5
SEVERAL_CLASSES = "the model has more than two classes, and predicts the one with the greatest probability"
NOT_APART = "favourable and unfavourable predictions overlap in their probabilities, so the model does not decide by them alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Conditions that a profile is fitted for. `donors` are those of the meta fields that work through correlated features."""

    deployment: Deployment
    monitor: Monitor
    settings: MitigationSettings
    donors: Mapping[str, Donors]
    basis: str

    def attributes(self) -> list[MonitoredAttribute]:
        """Returns the monitored attributes that are mitigated."""
        return [attribute for attribute in self.monitor.attributes if attribute.rule is None and self.settings.mitigates(attribute.feature)]

    def column(self, name: str) -> Column:
        """Returns the column of an attribute. Raises InvalidInput if it is no longer one."""
        return require_column(self.deployment, name)


@dataclass(frozen=True, slots=True, eq=False)
class Payload:
    """The records a profile is fitted to: outcomes, scores of the favourable outcome, and values by attribute."""

    outcomes: npt.NDArray[np.int64]
    scores: Scores
    values: dict[str, pa.ChunkedArray]

    @classmethod
    def of(cls, goal: Goal, rows: pa.Table, values: pa.Table) -> "Payload":
        """Returns the rows of a window (outcome, probability, model_revision) that are of the present model."""
        is_present = pa.array(np.array(rows["model_revision"].to_pylist(), dtype=object) == goal.deployment.model_revision, pa.bool_())
        rows, values, rule = rows.filter(is_present), values.filter(is_present), goal.monitor.outcomes
        outcomes = outcome_codes(rows["outcome"], rule)
        scores = favourable_scores(rows["probability"], rows["outcome"], outcomes, rule)
        return cls(outcomes, scores, {name: values[name] for name in values.column_names})


def fit_profile(reader: ArrowReader, goal: Goal, *, now: datetime) -> Profile:
    """Returns the profile of the newest payload records of the present model, as version 0."""
    deployment, monitor = goal.deployment, goal.monitor
    columns = tuple(attribute.feature for attribute in goal.attributes())
    query = WindowQuery(deployment.no, deployment.schema, columns, with_probabilities=True)
    rows = newest_payload(reader, query, Span(start=BEGINNING, end=now), monitor.max_records)
    values = rows.select([f"{VALUE_PREFIX}{place}" for place in range(len(columns))]).rename_columns(list(columns))
    return fit_to(goal, Payload.of(goal, rows, values), now=now)


def fit_to(goal: Goal, payload: Payload, *, now: datetime) -> Profile:
    """Does the same for these records."""
    fitted = [_fit_attribute(goal, attribute, goal.column(attribute.feature), payload) for attribute in goal.attributes()]
    cut_off, unread = _find_cut_off(payload)
    return Profile(
        version=0,
        fitted_at=now,
        basis=goal.basis,
        records=len(payload.outcomes),
        is_provisional=len(payload.outcomes) < goal.monitor.min_records,
        attributes=tuple(fitted),
        reading=payload.scores.reading,
        cut_off=cut_off,
        unread=unread,
    )


def _fit_attribute(goal: Goal, attribute: MonitoredAttribute, column: Column, payload: Payload) -> AttributeProfile:
    name, values, schema = attribute.feature, payload.values[attribute.feature], goal.deployment.schema
    listed = attribute
    if attribute.reference is None:
        # Every other value that was logged is a reference value, without a limit here: most get no copy, and a window that holds few of
        # them must not fail for values logged earlier.
        logged = stored_cells(values, column).coded().values
        monitored = ListedGroups.of(replace(attribute, reference=()), column)
        others: set[Scalar] = {value for value, group in zip(logged, monitored.find(logged), strict=True) if group is None}
        in_sequence = sorted(others, key=in_order)
        listed = replace(attribute, reference=tuple(in_sequence))
    grouping = group_records(listed, column, values)

    donors = None
    if attribute.correlated_features:
        if name not in goal.donors:
            raise InvalidInput.of(f"attributes.{name}.correlated_features", describe_missing_field(name))
        donors = donors_of_groups(goal.donors[name], grouping.groups, column, schema, attribute.correlated_features)
    is_feature = any(one.name == column.name for one in schema.features)
    return find_stand_ins(grouping, values, is_feature=is_feature, donors=donors)


def _find_cut_off(payload: Payload) -> tuple[CutOff | None, str | None]:
    scores = payload.scores
    if scores.reading is None or scores.values is None:
        return None, scores.reason
    if scores.reading.classes:
        return None, SEVERAL_CLASSES
    known = ~np.isnan(scores.values)
    below = float(scores.values[known & (payload.outcomes == Outcome.UNFAVOURABLE)].max())
    above = float(scores.values[known & (payload.outcomes == Outcome.FAVOURABLE)].min())
    if below > above:
        return None, NOT_APART
    return CutOff(HALF if below <= HALF <= above else (below + above) / 2, below, above), None
