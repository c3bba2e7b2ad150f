"""Figures of a check in IBM's form: percent, rounded as IBM rounds. Nothing is measured here."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from .bodies import without_none
from .fairness import upper_limit_of
from .monitor_definitions import DIFFERENCES, FAIRNESS_VALUE
from .quality import QUALITY_METRICS
from .v1 import V1, Document, Json

LOGGED, COPIES, COUNTERFACTUAL, LABELLED, MITIGATED = "as_logged", "openscale", "counterfactual", "labelled", "mitigated"
"""Names of the data of a figure in REST v1."""

TOGETHER = " × "

RATIOS: Mapping[str, str] = {LOGGED: "disparate_impact", COPIES: "openscale_fairness", MITIGATED: "disparate_impact_after"}
"""Ratio of a group to the reference, by data. Its details have the counts of both."""

FAIRNESS_KEYS = ("openscale_fairness", "disparate_impact", *DIFFERENCES)

SOURCE_KEYS = (*RATIOS.values(), "statistical_parity_difference")

_DECIMALS = 3

_DECIMALS_OF_ACCEPTABLE = 4


class FigureKey(NamedTuple):
    metric: str
    data: str
    attribute: str | None
    group: str | None


Figures = Mapping[FigureKey, Document]


class Side(NamedTuple):
    """Records of one group: how many of them favourable, and how many."""

    favourable: float
    n: float

    @property
    def percent(self) -> float:
        """The favourable share in percent; 0 for an empty group, as IBM has it."""
        return 100.0 * self.favourable / self.n if self.n else 0.0


async def read_figures(
    v1: V1, subscription_id: str, check_id: str, metrics: Iterable[str], *, scope: str, data: str | None = None
) -> list[Json]:
    path = f"/v1/deployments/{subscription_id}/checks/{check_id}/measurements"
    query = {"metric": sorted(set(metrics)), "scope": scope, **({} if data is None else {"data": data})}
    return [figure async for page in v1.pages(path, "measurements", query) for figure in page]


def index_figures(measurements: Iterable[Document]) -> Figures:
    return {
        FigureKey(figure["metric"], figure["data"], figure["attribute"], figure["group"]): figure
        for figure in measurements
        if TOGETHER not in (figure["attribute"] or "")
    }


def percent_of(ratio: float) -> float:
    """Returns a ratio as IBM's fairness value: rounded to three decimals, then in percent (94.69999999999999 for 0.947)."""
    # In this order, because 94.69999999999999 is what OpenScale itself prints.
    return round(ratio, _DECIMALS) * 100


def acceptable_percent(perfect_equality: float, threshold: float) -> float:
    """Returns the lowest acceptable percent, as IBM rounds it: to four decimals."""
    return round(perfect_equality * threshold, _DECIMALS_OF_ACCEPTABLE)


def attributes_of(figures: Figures) -> list[str]:
    return list(dict.fromkeys(key.attribute for key in figures if key.attribute is not None))


def groups_of(figures: Figures, attribute: str) -> list[str]:
    named = [key.group for key in figures if (key.attribute, key.metric) == (attribute, RATIOS[LOGGED])]
    return list(dict.fromkeys(group for group in named if group is not None))


def ratio_figure(figures: Figures, data: str, attribute: str, group: str) -> Document | None:
    return figures.get(FigureKey(RATIOS[data], data, attribute, group))


def fairness_figure(figures: Figures, attribute: str, group: str) -> Document | None:
    """Returns the figure of the fairness value: with copies counted as records where there are any, else of logged records."""
    return ratio_figure(figures, COPIES, attribute, group) or ratio_figure(figures, LOGGED, attribute, group)


def ratio_of(figure: Document | None) -> float | None:
    """Returns the ratio; 0 where the monitored group is empty, as IBM has it, and None where there is none for another reason."""
    if figure is None:
        return None
    if figure["value"] is None and figure["details"].get("monitored_n") == 0:
        return 0.0
    value: float | None = figure["value"]
    return value


def limits_of(figures: Figures, attribute: str, group: str) -> tuple[float | None, float | None]:
    """Returns the lowest and the highest fair ratio of the attribute when it was checked."""
    # OpenScale's own figure carries no verdict here, so the limits are those of the ratio next to it.
    for data in (LOGGED, COUNTERFACTUAL):
        figure = figures.get(FigureKey(RATIOS[LOGGED], data, attribute, group))
        if figure is not None and figure["lower_limit"] is not None:
            return figure["lower_limit"], figure["upper_limit"]
    return None, None


def side_of(figures: Figures, data: str, attribute: str, group: str | None) -> Side | None:
    """Returns the counts of a monitored group, or of the reference without one; None where it was not measured."""
    side = "reference" if group is None else "monitored"
    for label in groups_of(figures, attribute) if group is None else (group,):
        figure = ratio_figure(figures, data, attribute, label)
        details = {} if figure is None else figure["details"]
        favourable, n = details.get(f"{side}_favourable"), details.get(f"{side}_n")
        if favourable is not None and n is not None:
            return Side(favourable, n)
    return None


def fairness_values(figures: Figures, monitor: Json | None, stated: Collection[str] = ()) -> list[Json]:
    """Returns the values of a fairness measurement by feature and monitored group.

    Those after mitigation are in its sources only: an aggregate by feature would mix them with these. Of upper limits only those of the
    features `stated`, which a script set: Evenhand watches more, such as the mirror of a lowest ratio.
    """
    own_limits = {attribute["feature"]: attribute["metric_limits"] for attribute in monitor["attributes"]} if monitor else {}
    values = []
    for attribute in attributes_of(figures):
        for group in groups_of(figures, attribute):
            metrics = []
            ratio = ratio_of(fairness_figure(figures, attribute, group))
            if ratio is not None:
                lower, upper = limits_of(figures, attribute, group)
                ends = {"lower_limit": lower, "upper_limit": upper_limit_of(attribute, lower, upper, stated)}
                limits = {name: _percent_limit(limit) for name, limit in ends.items()}
                metrics.append(without_none({"id": FAIRNESS_VALUE, "value": percent_of(ratio), **limits}))
            for metric in DIFFERENCES:
                keys = [FigureKey(metric, data, attribute, group) for data in (LOGGED, LABELLED)]
                figure = next((figures[key] for key in keys if key in figures), None)
                metrics += _metric(metric, figure, with_limits=metric in own_limits.get(attribute, {}))
            if metrics:
                values.append({"metrics": metrics, "tags": tags_of(attribute, group)})
    return values


def quality_values(figures: Figures, problem_type: str) -> list[Json]:
    """Returns the values of a quality measurement; the favourable outcome of a binary model is the positive class."""
    metrics: list[Json] = []
    for identifier, key in QUALITY_METRICS[problem_type].items():
        metrics += _metric(identifier, figures.get(FigureKey(key, LABELLED, None, None)), with_limits=False)
    # Scripts tell these from figures of debiased predictions, which Evenhand compares with no labels.
    return [{"metrics": metrics, "tags": [{"id": "model_type", "value": "original"}]}] if metrics else []


def count_issues(values: Sequence[Json]) -> int:
    metrics = [metric for value in values for metric in value["metrics"]]
    return sum(not metric.get("lower_limit", -inf) <= metric["value"] <= metric.get("upper_limit", inf) for metric in metrics)


def tags_of(attribute: str, group: str) -> list[Json]:
    return [
        {"id": "feature", "value": attribute},
        {"id": "fairness_metric_type", "value": "fairness"},
        {"id": "feature_value", "value": group},
    ]


def _metric(identifier: str, figure: Document | None, *, with_limits: bool) -> list[Json]:
    if figure is None or figure["value"] is None:
        return []
    limits = {name: figure[name] for name in ("lower_limit", "upper_limit")} if with_limits else {}
    return [without_none({"id": identifier, "value": figure["value"], **limits})]


def _percent_limit(limit: float | None) -> float | None:
    # Rounded, because 0.95 is to be 95 and not 94.99999999999999.
    return None if limit is None else round(limit * 100, 10)
