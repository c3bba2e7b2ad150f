"""Measures one attribute on one data set: every wanted row of the catalogue, in every scope it has."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from app.metrics.catalogue import Data, FromScores, Metric, metrics_on
from app.metrics.catalogue.metric import Across, Compared, CountOf, OfPair, OfSet, OverStrata, RateOf
from app.metrics.cautions import caution
from app.metrics.composites import measure_drawn
from app.metrics.evidence import Evidence
from app.metrics.formulas.scores import measure_scores
from app.metrics.rates import measure_closed
from app.metrics.values import Measured, Undefined, Value
from app.metrics.worst import furthest_group, worst_group

NO_SCORES = "no probability of the favourable outcome is known"


def measure_all(data: Data, evidence: Evidence, wanted: Collection[str] | None) -> list[Measured]:
    """The wanted metrics of the data set, in catalogue order; `wanted` None means every one the table can answer.

    A metric that is wanted by name and cannot be answered for lack of strata or scores gives its reason.
    """
    results: list[Measured] = []
    for row in metrics_on(data):
        if (_is_answerable(row, evidence) if wanted is None else row.key in wanted) and not isinstance(row.measure, FromScores):
            metric = replace(row, scopes=row.scopes_on(data))
            found = _measured(metric, evidence)
            results += [*found, *_worst(metric, found, results, evidence)]
    results += _scores(data, evidence, wanted)
    order = {metric.key: place for place, metric in enumerate(metrics_on(data))}
    return [_cautioned(result) for result in sorted(results, key=lambda result: order[result.metric])]


def _is_answerable(metric: Metric, evidence: Evidence) -> bool:
    return isinstance(metric.measure, RateOf | Compared | CountOf | OfSet | OfPair | Across) or (
        isinstance(metric.measure, OverStrata) and bool(evidence.strata)
    )


def _measured(metric: Metric, evidence: Evidence) -> list[Measured]:
    how = metric.measure
    if isinstance(how, RateOf | CountOf | Compared):
        return measure_closed(metric, how, evidence)
    if isinstance(how, OfSet | OfPair | Across | OverStrata):
        return measure_drawn(metric, how, evidence)
    return []  # what needs scores or records is measured elsewhere


def _scores(data: Data, evidence: Evidence, wanted: Collection[str] | None) -> list[Measured]:
    rows = [row for row in metrics_on(data) if isinstance(row.measure, FromScores) and (wanted is None or row.key in wanted)]
    if evidence.scores is not None:
        formulas = {row.key: row.formula for row in rows}
        found = measure_scores(evidence.scores, evidence.groups, formulas)
        return found + [worst for row in rows for worst in _worst(row, [r for r in found if r.metric == row.key], found, evidence)]
    if wanted is None:
        return []
    return [
        Measured(
            metric=row.key,
            scope="overall" if "overall" in row.scopes else "pooled",
            group=None,
            number=Undefined(NO_SCORES, 0),
            smallest_group=0,
            details={"formula": row.formula},
        )
        for row in rows
    ]


def _worst(metric: Metric, found: Sequence[Measured], earlier: Sequence[Measured], evidence: Evidence) -> list[Measured]:
    """The chosen value's result again as the attribute's headline; where none has a number, the first one's reason."""
    if "worst" not in metric.scopes:
        return []
    each = [result for result in found if result.scope == "group"]
    chosen = _headline(metric.worst_by, earlier) or _least_favoured(metric, each, evidence)
    for result in each:
        if result.group == chosen:
            return [replace(result, scope="worst", group=None, details={**result.details, "worst_group": chosen})]
    return [replace(result, scope="worst", group=None) for result in each[:1]]


def _least_favoured(metric: Metric, each: Sequence[Measured], evidence: Evidence) -> str | None:
    """The monitored value that a metric of its own shows as treated worst."""
    if metric.key == "disparate_impact":
        return worst_group(each, evidence.limits)
    if metric.worst_by is None:
        return furthest_group(each, metric.ideal or 0.0)
    sign = -1 if metric.order == "reference - monitored" else 1
    numbers = [(sign * result.number.value, result.group) for result in each if isinstance(result.number, Value)]
    return min(numbers, default=(0.0, None), key=lambda entry: entry[0])[1]


def _headline(key: str | None, results: Sequence[Measured]) -> str | None:
    """The worst value another metric has chosen already."""
    chosen = next((result for result in results if result.metric == key and result.scope == "worst"), None)
    return None if chosen is None else str(chosen.details["worst_group"]) if "worst_group" in chosen.details else None


def _cautioned(result: Measured) -> Measured:
    """The result, with a word of caution where it rests on so few records that no interval keeps its promise."""
    if not isinstance(result.number, Value) or "caution" in result.details:
        return result
    return replace(result, details={**result.details, **caution(result.smallest_group)})
