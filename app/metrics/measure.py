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
from app.metrics.values import Measured, Value
from app.metrics.worst import headline


def measure_all(data: Data, evidence: Evidence, wanted: Collection[str] | None) -> list[Measured]:
    """The wanted metrics of the data set, in catalogue order; `wanted` None means every one the table can answer.

    A metric that is wanted by name and cannot be answered for lack of strata or scores gives its reason.
    """
    results: list[Measured] = []
    for row in metrics_on(data):
        if (_is_answerable(row, evidence) if wanted is None else row.key in wanted) and not isinstance(row.measure, FromScores):
            metric = replace(row, scopes=row.scopes_on(data))
            found = _measured(metric, evidence)
            results += [*found, *_worst(metric, found, evidence)]
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
    if evidence.scores is None:
        return []
    found = measure_scores(evidence.scores, evidence.groups, {row.key: row.formula for row in rows})
    return found + [worst for row in rows for worst in _worst(row, [one for one in found if one.metric == row.key], evidence)]


def _worst(metric: Metric, found: Sequence[Measured], evidence: Evidence) -> list[Measured]:
    return headline(metric, found, evidence.limits) if "worst" in metric.scopes else []


def _cautioned(result: Measured) -> Measured:
    """The result, with a word of caution where it rests on so few records that no interval keeps its promise."""
    if not isinstance(result.number, Value) or "caution" in result.details:
        return result
    records = result.smallest_group if result.cautious_of is None else result.cautious_of
    return replace(result, details={**result.details, **caution(records)})
