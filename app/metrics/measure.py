"""Measures one attribute on one data set: every wanted row of the catalogue, in each scope."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from .catalogue import Data, FromScores, Metric, metrics_on
from .catalogue.metric import Across, ComparedRate, CountOf, OfPair, OfSet, OverStrata, RateOf
from .cautions import caution
from .composites import measure_drawn
from .evidence import TableEvidence
from .formulas.scores import measure_scores
from .labels import judge_labels
from .members import omit_repeats
from .rates import measure_closed
from .values import Measured, Value
from .worst import mark_worst


def measure_all(
    data: Data, evidence: TableEvidence, wanted: Collection[str] | None, scopes: frozenset[str] | None = None
) -> list[Measured]:
    """Wanted metrics of the data set, in catalogue order; None: all that the table supports.

    With `scopes`, others are left out as far as they cost time. A metric asked for by name without strata or scores gives its reason.
    """
    results: list[Measured] = []
    of_scores: dict[str, Metric] = {}
    for metric in _narrow_metrics(data, scopes):
        if wanted is not None and metric.key not in wanted:
            continue
        how = metric.measure
        found: list[Measured] = []
        if isinstance(how, FromScores):
            of_scores[metric.key] = metric
        elif isinstance(how, RateOf | CountOf | ComparedRate):
            found = measure_closed(metric, how, evidence)
        elif isinstance(how, OfSet | OfPair | Across) or (isinstance(how, OverStrata) and (evidence.strata or wanted is not None)):
            found = measure_drawn(metric, how, evidence)
        results += _judge(metric, found, evidence)

    if of_scores and evidence.scores is not None:
        found = measure_scores(evidence.scores, evidence.groups, {key: row.formula for key, row in of_scores.items()})
        for row in of_scores.values():
            results += _judge(row, [one for one in found if one.metric == row.key], evidence)
    order = {metric.key: place for place, metric in enumerate(_narrow_metrics(data, scopes))}
    return [_with_caution(result) for result in sorted(results, key=lambda result: order[result.metric])]


@cache
def _narrow_metrics(data: Data, scopes: frozenset[str] | None) -> tuple[Metric, ...]:
    each = ((row, row.scopes_on(data)) for row in metrics_on(data))
    # The value furthest out is marked among the groups.
    always = {"group", "worst"}
    return tuple(replace(row, scopes=tuple(one for one in own if scopes is None or one in always | scopes)) for row, own in each)


def _judge(metric: Metric, measured: Sequence[Measured], evidence: TableEvidence) -> list[Measured]:
    results = measured if evidence.labels is None else judge_labels(measured, evidence.labels)
    if "worst" in metric.scopes:
        results = mark_worst(metric, results, evidence.limits)
    return omit_repeats(results, evidence.groups)


def _with_caution(result: Measured) -> Measured:
    if not isinstance(result.number, Value) or result.details.caution is not None:
        return result
    found = caution(result.smallest_group if result.cautious_of is None else result.cautious_of)
    return result if found is None else replace(result, details=result.details.changed(caution=found))
