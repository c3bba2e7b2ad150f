"""The catalogue of metrics: bodies and routes."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import AliasPath, Field

from ..access.gate.caller import AnyKey
from ..base.errors import NotFound
from ..domain.check import DataSet, Scope
from ..statistics.catalogue import CATALOGUE, Direction
from ..statistics.catalogue.metric import NeededInput, Order, SideOfIdeal
from ..web.body import Out, example
from ..web.route_declarations import NOT_FOUND

_METRIC = {
    "key": "statistical_parity_difference",
    "title": "Statistical parity difference",
    "formula": "favourable_rate(monitored) - favourable_rate(reference)",
    "data": ["as_logged", "counterfactual"],
    "scopes": ["group", "pooled", "worst", "worst_pair"],
    "needs": ["predictions"],
    "lowest": -1.0,
    "highest": 1.0,
    "ideal": 0.0,
    "direction": "towards_ideal",
    "order": "monitored - reference",
    "disadvantage": "below",
    "lower_limit": -0.1,
    "upper_limit": 0.1,
    "is_default": True,
    "convention": "monitored - reference: below 0 the monitored group is favoured less often",
    "source": "OpenScale; AIF360",
    "aliases": [
        "OpenScale statistical_parity_difference",
        "AIF360 statistical_parity_difference",
        "AIF360 mean_difference",
        "fairlearn demographic_parity_difference",
    ],
}


class MetricOut(Out):
    """One metric: its computation and the meaning of its numbers."""

    model_config = example(_METRIC)

    key: str
    """Its name in monitors and series."""

    title: str
    formula: str
    data: list[DataSet]
    """Data sets on which it can be measured."""

    scopes: list[Scope]
    """Subjects of its values; `overall` is of labelled records only, `worst_pair` not on counterfactual."""

    needs: list[NeededInput]
    """The things that must be logged or set: labels, predictions, scores (probabilities), strata (of the
    monitor), rows (the records themselves; it is in no roll-up), classes or numbers (labels and
    predictions themselves, of a classification or a regression; in no roll-up), copies (an endpoint to
    score them)."""

    lowest: float | None
    """The lower end of its range; null is unbounded."""

    highest: float | None
    """The upper end of its range; null is unbounded."""

    ideal: float | None
    """The number that means equality or perfection; null where none does."""

    direction: Direction
    """The direction in which it gets better."""

    order: Order
    """The group that is subtracted from, or divided by, the other."""

    disadvantage: SideOfIdeal | None
    """On which side of the ideal the monitored group is at a disadvantage, on the other the reference is;
    null where the number does not say who is favoured."""

    lower_limit: float | None = Field(validation_alias=AliasPath("limits", 0))
    """Start of the range that counts as fair where the monitor says nothing; null is an open side."""

    upper_limit: float | None = Field(validation_alias=AliasPath("limits", 1))
    is_default: bool
    """Whether a monitor measures it that picks no metrics."""

    convention: str
    """The meaning of the sign or size of a number."""

    source: str
    aliases: list[str]
    """Names it has in other tools."""


class MetricsOut(Out):
    """Every metric there is."""

    model_config = example({"metrics": [_METRIC]})

    metrics: list[MetricOut]


router = APIRouter(prefix="/v1/metrics", tags=["metrics"])

MetricKey = Annotated[
    str,
    Path(
        description="The metric's key.", max_length=100, pattern=r"^[^\x00]*$", examples=["disparate_impact"]
    ),
]


@router.get("")
async def list_metrics(_key: AnyKey) -> MetricsOut:
    """Returns every metric, in the order in which they are shown. Any key may read it."""
    return MetricsOut(metrics=[MetricOut.from_object(metric) for metric in CATALOGUE.values()])


@router.get("/{metric_key}", responses=NOT_FOUND)
async def read_metric(_key: AnyKey, metric_key: MetricKey) -> MetricOut:
    """Returns one metric. Any key may read it."""
    if metric_key not in CATALOGUE:
        raise NotFound("metric", metric_key)
    return MetricOut.from_object(CATALOGUE[metric_key])
