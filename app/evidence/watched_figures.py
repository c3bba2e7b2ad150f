"""Figures with evidence: a monitor's metrics that have a limit, for each monitored group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

from ..base.values import frozen_by_name
from ..database.binary_rows import plain_json
from ..deployments.monitor.queries import find_strictest_limits, list_monitored_metrics
from ..domain.check import DataSet
from ..domain.monitor import Comparison, Limits, Monitor, MonitoredAttribute, list_comparisons
from ..statistics.e_values.nulls import Limit, Scale, UnfairSide, find_own_side
from .queries.eras import Era, FollowedDeployment
from .queries.figure_states import KnownFigure
from .queries.hour_counts import CountedPlace


@frozen_by_name
class RateDefinition:
    """Definition of a metric by the positions of `part` and `whole` among a group's counts.

    `is_reversed`: the metric is reference - monitored. A paired metric is the ratio of counterfactual rates:
    its counts are kinds of records, without positions.
    """

    data: DataSet
    metric: str
    scale: Scale
    part: int = 0
    whole: int = 1
    is_reversed: bool = False

    @property
    def is_paired(self) -> bool:
        return self.data is DataSet.COUNTERFACTUAL


DEFINITIONS = (
    RateDefinition(data=DataSet.AS_LOGGED, metric="disparate_impact", scale=Scale.RATIO),
    RateDefinition(data=DataSet.AS_LOGGED, metric="statistical_parity_difference", scale=Scale.DIFFERENCE),
    RateDefinition(data=DataSet.COUNTERFACTUAL, metric="disparate_impact", scale=Scale.RATIO),
    RateDefinition(data=DataSet.LABELLED, metric="true_positive_rate_difference", scale=Scale.DIFFERENCE),
    RateDefinition(
        data=DataSet.LABELLED,
        metric="false_positive_rate_difference",
        scale=Scale.DIFFERENCE,
        part=2,
        whole=3,
    ),
    RateDefinition(
        data=DataSet.LABELLED,
        metric="accuracy_difference",
        scale=Scale.DIFFERENCE,
        part=4,
        whole=5,
        is_reversed=True,
    ),
)
"""Counts of a group as logged: favourable, all; labelled: predicted and labelled favourable, labelled
favourable; predicted favourable but labelled unfavourable, labelled unfavourable; right, all.
"""


@dataclass(frozen=True, kw_only=True)
class WatchedMetric:
    """Metric of a comparison that evidence is collected on, with its one or two limits.

    The limits are of monitored / reference or monitored - reference, even of a reversed metric.
    """

    comparison: Comparison
    definition: RateDefinition
    limits: tuple[Limit, ...]

    @cached_property
    def place(self) -> CountedPlace:
        return CountedPlace(self.definition.data, self.comparison.label)

    @cached_property
    def key(self) -> tuple[CountedPlace, str]:
        return self.place, self.definition.metric

    def get_direction(self, limit: Limit) -> UnfairSide:
        return find_own_side(limit, is_reversed=self.definition.is_reversed)

    def compute_own_value(self, value: float) -> float:
        return -value if self.definition.is_reversed else value


def list_watched_metrics(monitor: Monitor) -> Iterator[WatchedMetric]:
    picked = {data: {metric.key for metric in list_monitored_metrics(monitor, data)} for data in DataSet}
    for comparison in list_comparisons(monitor):
        members = comparison.members(monitor)
        for definition in DEFINITIONS:
            if definition.is_paired and (comparison.is_combination or members[0].rule is not None):
                continue
            if definition.metric not in picked[definition.data]:
                continue
            limits = tuple(_list_limits(definition, find_strictest_limits(members, definition.metric)))
            if limits:
                yield WatchedMetric(comparison=comparison, definition=definition, limits=limits)


def _list_limits(definition: RateDefinition, limits: Limits) -> Iterator[Limit]:
    lower = limits.lower
    upper = limits.upper
    if definition.is_reversed:
        lower, upper = (None if upper is None else -upper), (None if lower is None else -lower)
    for direction, value, opposite in ((UnfairSide.BELOW, lower, upper), (UnfairSide.ABOVE, upper, lower)):
        if value is not None and _is_usable(definition.scale, value):
            opposite_limit = (
                opposite if opposite is not None and _is_usable(definition.scale, opposite) else None
            )
            yield Limit(definition.scale, direction, value, opposite_limit)


def _is_usable(scale: Scale, value: float) -> bool:
    return value > 0 if scale is Scale.RATIO else -1 < value < 1


Definition = dict[str, Any]


def define_figures(monitor: Monitor, watched: WatchedMetric) -> Definition:
    """JSON of what a metric's figures compare, each with its group.

    Labels name values within one attribute, so the group's label and this are the whole definition.
    """
    definition: Definition = {
        "favourable": monitor.outcomes.favourable,
        "unfavourable": monitor.outcomes.unfavourable,
        "limits": [[limit.direction, limit.value] for limit in watched.limits],
        "attributes": [_define_attribute(attribute) for attribute in watched.comparison.members(monitor)],
        "evidence": {
            name: getattr(monitor.evidence, name)
            for name in ("person", "label_horizon_hours", "false_alarm_hours")
        },
    }
    if watched.definition.is_paired:
        (attribute,) = watched.comparison.members(monitor)
        definition["copies"] = {
            "draws": monitor.draws,
            "seed": monitor.seed,
            "correlated_features": attribute.correlated_features,
        }
    return cast("Definition", plain_json(definition))


def _define_attribute(attribute: MonitoredAttribute) -> Definition:
    for name, part in (("rule", attribute.rule), ("reference", attribute.reference)):
        if part is not None:
            return {"feature": attribute.feature, name: part}
    return {"feature": attribute.feature, "all_but": attribute.monitored}


@dataclass
class FollowedEra:
    """Era of a deployment with the monitor that it is followed by.

    Hours before `starts_at` (if any) do not count for a figure that appears. `changes` of the era are to be
    stored.
    """

    deployment: FollowedDeployment
    monitor: Monitor
    era: Era
    starts_at: datetime | None = None
    changes: dict[str, Any] = field(default_factory=dict)

    def note(self, **reached: Any) -> None:  # noqa: ANN401 - columns of the era
        """Changes columns here and, at the end of the step, in the database."""
        self.era = replace(self.era, **reached)
        self.changes |= reached

    @cached_property
    def metrics(self) -> Sequence[WatchedMetric]:
        return tuple(list_watched_metrics(self.monitor))

    @cached_property
    def definitions(self) -> Mapping[tuple[CountedPlace, str], Definition]:
        return {metric.key: define_figures(self.monitor, metric) for metric in self.metrics}

    def compares(self, figure: KnownFigure) -> bool:
        """Whether the monitor still compares the same as when the figure began."""
        if figure.definition is None:
            return self.era.monitor_version == self.monitor.version
        stored, now = (
            None
            if definition is None
            else {**definition, "evidence": {**definition["evidence"], "person": None}}
            for definition in (figure.definition, self.definitions.get(figure.metric_key))
        )
        # What is said of persons holds from then on, and begins nothing again.
        return stored == now

    def with_person(self, person: str | None) -> "FollowedEra":
        evidence = replace(self.monitor.evidence, person=person)
        return replace(self, monitor=replace(self.monitor, evidence=evidence))

    @property
    def horizon(self) -> timedelta:
        return timedelta(hours=self.monitor.evidence.label_horizon_hours)
