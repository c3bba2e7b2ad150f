"""The metrics, one row each. A row says which rate is compared how, and what its number means; nothing here computes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, TypeAlias

from app.metrics.comparisons import DIFFERENCE, RATIO, Comparison
from app.metrics.values import Scope

Data: TypeAlias = Literal["payload", "balanced", "feedback"]


class Direction(StrEnum):
    """Which way a number gets better."""

    TOWARDS_IDEAL = "towards_ideal"
    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row. `rate` names a rate of the data's table; without a `comparison` the metric is that rate itself.

    `lowest` and `highest` are the range (None = unbounded), `ideal` the number that means equality or perfection.
    `worst_by` names the metric by which the worst monitored value is chosen, where it is not the metric itself.
    """

    key: str
    title: str
    formula: str
    data: tuple[Data, ...]
    rate: str
    comparison: Comparison | None
    scopes: tuple[Scope, ...]
    lowest: float
    highest: float | None
    ideal: float | None
    direction: Direction
    convention: str
    source: str
    worst_by: str | None = None


_GROUPS: tuple[Scope, ...] = ("group", "pooled", "reference")
_PAIRS: tuple[Scope, ...] = ("group", "pooled", "worst")
_FLIPS: tuple[Scope, ...] = ("attribute", "group")

_ROWS = (
    Metric(
        key="favourable_rate",
        title="Favourable rate",
        formula="favourable(g) / n(g)",
        data=("payload", "balanced"),
        rate="favourable",
        comparison=None,
        scopes=_GROUPS,
        lowest=0.0,
        highest=1.0,
        ideal=None,
        direction=Direction.NONE,
        convention="the share of a group's records with a favourable prediction; on balanced data with their synthetic copies",
        source="OpenScale",
    ),
    Metric(
        key="disparate_impact",
        title="Disparate impact",
        formula="favourable_rate(monitored) / favourable_rate(reference)",
        data=("payload", "balanced"),
        rate="favourable",
        comparison=RATIO,
        scopes=_PAIRS,
        lowest=0.0,
        highest=None,
        ideal=1.0,
        direction=Direction.TOWARDS_IDEAL,
        convention="monitored / reference: below 1 the monitored group is favoured less often",
        source="OpenScale fairness value; AIF360 disparate_impact; Clarify DI",
    ),
    Metric(
        key="statistical_parity_difference",
        title="Statistical parity difference",
        formula="favourable_rate(monitored) - favourable_rate(reference)",
        data=("payload",),
        rate="favourable",
        comparison=DIFFERENCE,
        scopes=_PAIRS,
        lowest=-1.0,
        highest=1.0,
        ideal=0.0,
        direction=Direction.TOWARDS_IDEAL,
        convention="monitored - reference: below 0 the monitored group is favoured less often",
        source="OpenScale; AIF360 statistical_parity_difference",
        worst_by="disparate_impact",
    ),
    Metric(
        key="perfect_equality",
        title="Perfect equality",
        formula="favourable_rate(reference records, original and synthesised from every monitored value)",
        data=("balanced",),
        rate="perfect_equality",
        comparison=None,
        scopes=("attribute",),
        lowest=0.0,
        highest=1.0,
        ideal=None,
        direction=Direction.NONE,
        convention="the favourable rate a monitored group would need on balanced data to be treated as the reference",
        source="OpenScale",
    ),
    Metric(
        key="flip_rate",
        title="Flip rate",
        formula="records with another outcome under at least one copy / records with a copy",
        data=("balanced",),
        rate="flipped",
        comparison=None,
        scopes=_FLIPS,
        lowest=0.0,
        highest=1.0,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="flip_rate_gained + flip_rate_lost",
        source="counterfactual fairness; OpenScale individual bias",
    ),
    Metric(
        key="flip_rate_gained",
        title="Flip rate, gained",
        formula="unfavourable records with a favourable copy / records with a copy",
        data=("balanced",),
        rate="gained",
        comparison=None,
        scopes=_FLIPS,
        lowest=0.0,
        highest=1.0,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="gained: the changed value would turn an unfavourable outcome favourable",
        source="counterfactual fairness; OpenScale individual bias",
    ),
    Metric(
        key="flip_rate_lost",
        title="Flip rate, lost",
        formula="favourable records with an unfavourable copy / records with a copy",
        data=("balanced",),
        rate="lost",
        comparison=None,
        scopes=_FLIPS,
        lowest=0.0,
        highest=1.0,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="lost: the changed value would turn a favourable outcome unfavourable",
        source="counterfactual fairness; OpenScale individual bias",
    ),
    Metric(
        key="accuracy",
        title="Accuracy",
        formula="correct(g) / n(g)",
        data=("feedback",),
        rate="correct",
        comparison=None,
        scopes=("overall", *_GROUPS),
        lowest=0.0,
        highest=1.0,
        ideal=1.0,
        direction=Direction.HIGHER,
        convention="the share of labelled records whose predicted label is the actual one",
        source="AIF360 accuracy; Clarify ACC",
    ),
)

CATALOGUE: Mapping[str, Metric] = MappingProxyType({row.key: row for row in _ROWS})
"""Every metric by its key, in the order in which they are shown."""


def metrics_on(data: Data) -> tuple[Metric, ...]:
    """The metrics that exist on a data set, in catalogue order."""
    return tuple(row for row in CATALOGUE.values() if data in row.data)
