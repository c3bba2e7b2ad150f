"""Figures of a check in IBM's form: percent, rounded as IBM rounds. Nothing is measured here: the numbers are the check's own."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..domain.checks import DataSet, Measurement, Scope
from ..domain.deployments import ProblemType
from ..domain.monitors import Limits, Monitor
from .bodies import Answer, without_none
from .fairness import upper_limit_of
from .monitor_definitions import DIFFERENCES, FAIRNESS_VALUE
from .quality import QUALITY_METRICS

_DECIMALS = 3
"""Decimals of a ratio that IBM keeps before it makes it percent."""


_DECIMALS_OF_ACCEPTABLE = 4


@dataclass(frozen=True, slots=True)
class CheckFigureKey:
    """Place of one figure among those of a check."""

    metric: str
    data: DataSet
    scope: Scope
    attribute: str | None
    group: str | None


Figures = Mapping[CheckFigureKey, Measurement]

RATES = {DataSet.DEBIASED: "selection_rate_after"}
"""Rates of favourable outcomes on data where it is not `favourable_rate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSide:
    """Records of one group: how many, and how many of them favourable."""

    favourable: float
    n: float

    @property
    def percent(self) -> float:
        """Returns the favourable share in percent; 0 for an empty group, as IBM has it."""
        return 100.0 * self.favourable / self.n if self.n else 0.0


FAIRNESS_KEYS = frozenset({"openscale_fairness", "disparate_impact", *DIFFERENCES})
"""Keys of the catalogue that the values of a fairness measurement need, of each group."""


def index_figures(measurements: Iterable[Measurement]) -> Figures:
    """Returns the figures of single attributes and of all records by their place."""
    return {
        CheckFigureKey(one.metric, one.data, one.scope, one.attribute, one.group): one
        for one in measurements
        if not one.comparison.is_together
    }


def percent_of(ratio: float) -> float:
    """Returns a ratio as IBM's fairness value: rounded to three decimals, then in percent (94.69999999999999 for 0.947)."""
    # In this order, because 94.69999999999999 is what OpenScale itself prints.
    return round(ratio, _DECIMALS) * 100


def acceptable_percent(perfect_equality: float, threshold: float) -> float:
    """Returns the lowest acceptable percent, as IBM rounds it: to four decimals."""
    return round(perfect_equality * threshold, _DECIMALS_OF_ACCEPTABLE)


def attributes_of(figures: Figures) -> list[str]:
    """Returns the attributes that were compared, in the order in which they were measured."""
    return list(dict.fromkeys(key.attribute for key in figures if key.attribute is not None))


def groups_of(figures: Figures, attribute: str) -> list[str]:
    """Returns the monitored groups of an attribute."""
    named = [key.group for key in figures if (key.attribute, key.scope, key.metric) == (attribute, Scope.GROUP, "disparate_impact")]
    return list(dict.fromkeys(group for group in named if group is not None))


def fairness_figure(figures: Figures, attribute: str, group: str) -> Measurement | None:
    """Returns the figure that the fairness value is: with copies counted as records where there are any, else of logged records."""
    with_copies = figures.get(CheckFigureKey("openscale_fairness", DataSet.PAYLOAD_PERTURBED, Scope.GROUP, attribute, group))
    return with_copies or figures.get(CheckFigureKey("disparate_impact", DataSet.PAYLOAD, Scope.GROUP, attribute, group))


def ratio_of(figure: Measurement | None) -> float | None:
    """Returns the ratio; 0 where the monitored group is empty, as IBM has it, and None where there is none for another reason."""
    if figure is None:
        return None
    # Without records there is no rate here; IBM's shape knows only 0.0.
    if figure.value is None and figure.details.monitored_counts.get("n") == 0:
        return 0.0
    return figure.value


def debiased_figure(figures: Figures, attribute: str, group: str) -> Measurement | None:
    """Returns the ratio of logged records after mitigation; None where it was not measured."""
    return figures.get(CheckFigureKey("disparate_impact_after", DataSet.DEBIASED, Scope.GROUP, attribute, group))


def limits_of(figures: Figures, attribute: str, group: str) -> Limits:
    """Returns the lowest and the highest fair ratio of the attribute when it was checked."""
    # OpenScale's own figure carries no verdict here, so the limits are those of the ratio next to it.
    for data in (DataSet.PAYLOAD, DataSet.BALANCED):
        found = figures.get(CheckFigureKey("disparate_impact", data, Scope.GROUP, attribute, group))
        if found is not None and found.lower_limit is not None:
            return Limits(lower=found.lower_limit, upper=found.upper_limit)
    return Limits()


def side_of(figures: Figures, data: DataSet, attribute: str, group: str | None) -> GroupSide | None:
    """Returns the counts of a monitored group, or of the reference without one; None where it was not measured."""
    rate, monitored = RATES.get(data, "favourable_rate"), groups_of(figures, attribute)
    found = {
        (key.scope, key.group): one for key, one in figures.items() if (key.metric, key.data, key.attribute) == (rate, data, attribute)
    }
    one = found.get((Scope.GROUP, group)) if group is not None else found.get((Scope.REFERENCE, None))
    if one is None and group is None:  # a reference of one group has no other figure
        one = next((each for (scope, label), each in found.items() if scope is Scope.GROUP and label not in monitored), None)
    if one is None:
        return None
    favourable, n = one.details.counts.get("favourable"), one.details.counts.get("n")
    return None if favourable is None or n is None else GroupSide(favourable=favourable, n=n)


def fairness_values(figures: Figures, monitor: Monitor | None, stated: Collection[str] = ()) -> list[Answer]:
    """Returns the values of a fairness measurement by feature and monitored group.

    Those after mitigation are in its sources only: an aggregate by feature would mix them with these. Limits are those that were set with
    the monitor; `stated` are the features whose upper limit a script stated. Evenhand watches more, such as the mirror of a lowest ratio,
    which no script asked for.
    """
    values = []
    for attribute in attributes_of(figures):
        member = next((one for one in monitor.attributes if one.feature == attribute), None) if monitor is not None else None
        for group in groups_of(figures, attribute):
            metrics = []
            ratio = ratio_of(fairness_figure(figures, attribute, group))
            if ratio is not None:
                found_limits = limits_of(figures, attribute, group)
                ends = {"lower_limit": found_limits.lower, "upper_limit": upper_limit_of(attribute, found_limits, stated)}
                limits = {name: _percent_limit(limit) for name, limit in ends.items()}
                metrics.append(without_none({"id": FAIRNESS_VALUE, "value": percent_of(ratio), **limits}))
            own_limits = {metric for metric, _ in member.metric_limits} if member is not None else set()
            for metric in DIFFERENCES:
                keys = [CheckFigureKey(metric, data, Scope.GROUP, attribute, group) for data in (DataSet.PAYLOAD, DataSet.FEEDBACK)]
                found = next((figures[key] for key in keys if key in figures), None)
                metrics += _metric(metric, found, with_limits=metric in own_limits)
            if metrics:
                values.append({"metrics": metrics, "tags": tags_of(attribute, group)})
    return values


def quality_values(figures: Figures, problem_type: ProblemType) -> list[Answer]:
    """Returns the values of a quality measurement, of all labelled records.

    Of a binary model the favourable outcome is the positive class.
    """
    metrics: list[Answer] = []
    for identifier, key in QUALITY_METRICS[problem_type].items():
        found = figures.get(CheckFigureKey(key, DataSet.FEEDBACK, Scope.OVERALL, None, None))
        metrics += _metric(identifier, found, with_limits=False)
    # Scripts tell these from figures of debiased predictions, which Evenhand compares with no labels.
    return [{"metrics": metrics, "tags": [{"id": "model_type", "value": "original"}]}] if metrics else []


def count_issues(values: Sequence[Answer], limits: Mapping[str, Mapping[str, float]] | None = None) -> int:
    """Returns how many values are outside their limits: their own, or those given by metric."""
    found = 0
    for value in values:
        for metric in value["metrics"]:
            own: Mapping[str, Any] = metric if limits is None else limits.get(metric["id"], {})
            below = own.get("lower_limit") is not None and metric["value"] < own["lower_limit"]
            found += below or (own.get("upper_limit") is not None and metric["value"] > own["upper_limit"])
    return found


def tags_of(attribute: str, group: str) -> list[Answer]:
    """Returns the tags of a value of one monitored group."""
    return [
        {"id": "feature", "value": attribute},
        {"id": "fairness_metric_type", "value": "fairness"},
        {"id": "feature_value", "value": group},
    ]


def _metric(identifier: str, found: Measurement | None, *, with_limits: bool) -> list[Answer]:
    if found is None or found.value is None:
        return []
    limits = {"lower_limit": found.lower_limit, "upper_limit": found.upper_limit} if with_limits else {}
    return [without_none({"id": identifier, "value": found.value, **limits})]


def _percent_limit(limit: float | None) -> float | None:
    # Rounded, because 0.95 is to be 95 and not 94.99999999999999.
    return None if limit is None else round(limit * 100, 10)
