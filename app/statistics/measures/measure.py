"""Measures one attribute on one data set: every metric that is asked for, in each scope."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from ..catalogue import CATALOGUE, Data, Metric, ScoreFigure, list_metrics_on
from ..catalogue.metric import (
    CellKind,
    CountFigure,
    PairFigure,
    RateComparison,
    RateFigure,
    SetFigure,
    SpreadFigure,
    StrataFigure,
)
from ..group_labels import AnyArray
from ..intervals.draws import TableEvidence, build_cells, build_counted_rate
from ..intervals.rate_estimates import DRAWS, NO_LABELLED_RECORD, PARTS, RATES, RatePhrases
from ..intervals.verdicts import Measured
from ..tables.count_table import GroupCounts, LabelledCells
from ..tables.score_table import ScoreTable
from .composites import measure_across, measure_cells, measure_strata
from .label_states import judge_labels
from .measure_rates import add_caution, measure_comparison, measure_counts, measure_rate, omit_repeats
from .measure_scores import measure_scores
from .worst_group import CATALOGUE_LIMITS, AllLimits, mark_worst

Keys = Collection[str] | None
"""Keys of metrics; None for all that the table supports."""

FAVOURABLE_PHRASES = RatePhrases(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="the reference rate is zero: none of {n} reference records was favourable",
)
BASE_PHRASES = RatePhrases(noun="actual_favourable", empty="no record{of} has a label among the outcomes")

CORRECT_PHRASES = RatePhrases(noun="correct", empty=NO_LABELLED_RECORD)


def measure_all(
    data: Data, evidence: TableEvidence, keys: Keys, scopes: frozenset[str] | None = None
) -> list[Measured]:
    """Measures these metrics of the data set, in catalogue order.

    A metric that is asked for by name gives a reason if there are no strata or scores. With `scopes`, others
    are left out where they cost time.
    """
    metrics = [metric for metric in _list_metrics(data, scopes) if keys is None or metric.key in keys]
    formulas = {metric.key: metric.formula for metric in metrics if isinstance(metric.measure, ScoreFigure)}
    score_figures = (
        measure_scores(evidence.scores, evidence.groups, formulas) if formulas and evidence.scores else []
    )
    results = list[Measured]()
    for metric in metrics:
        match measure := metric.measure:
            case ScoreFigure():
                measured = [result for result in score_figures if result.metric == metric.key]
            case RateFigure():
                measured = measure_rate(metric, measure, evidence)
            case CountFigure():
                measured = measure_counts(metric, measure, evidence)
            case RateComparison():
                measured = measure_comparison(metric, measure, evidence)
            case SetFigure() | PairFigure():
                measured = measure_cells(metric, measure, evidence)
            case SpreadFigure():
                measured = measure_across(metric, measure, evidence)
            case StrataFigure() if evidence.strata or keys is not None:
                measured = measure_strata(metric, measure, evidence)
            case _:
                measured = []
        results += _mark_results(metric, measured, evidence)
    return [add_caution(result) for result in results]


@cache
def _list_metrics(data: Data, scopes: frozenset[str] | None) -> tuple[Metric, ...]:
    measured_scopes = None if scopes is None else scopes | {"group", "worst"}
    return tuple(
        replace(
            metric,
            scopes=tuple(
                scope
                for scope in metric.list_scopes_on(data)
                if measured_scopes is None or scope in measured_scopes
            ),
        )
        for metric in list_metrics_on(data)
    )


def _mark_results(metric: Metric, measured: Sequence[Measured], evidence: TableEvidence) -> list[Measured]:
    results = judge_labels(measured, evidence.labels) if evidence.labels else measured
    if "worst" in metric.scopes:
        results = mark_worst(metric, results, evidence.limits)
    return omit_repeats(results, evidence.groups)


def measure_as_logged(
    table: GroupCounts,
    *,
    metrics: Keys = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = CATALOGUE_LIMITS,
    scopes: frozenset[str] | None = None,
) -> list[Measured]:
    """Measures favourable rates of an attribute's or intersection's groups, and their comparisons.

    `metrics` picks by key (None: all that the table supports). The worst value is chosen by `limits`
    (default: the catalogue's). The same `seed` (not negative) gives the same intervals. `scopes` are those
    that the caller reads (None: all).
    """
    evidence = _build_evidence(
        table, "predictions", "favourable", FAVOURABLE_PHRASES, limits, seed=seed, draws=draws
    )
    return measure_all("as_logged", replace(evidence, scores=_find_scores(table, metrics)), metrics, scopes)


def _find_scores(table: GroupCounts | LabelledCells, keys: Keys) -> ScoreTable | None:
    is_named = any(isinstance(CATALOGUE[key].measure, ScoreFigure) for key in keys or ())
    return table.scores or (table.tabulate_unscored() if is_named else None)


def measure_training(
    table: GroupCounts,
    *,
    metrics: Keys = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = CATALOGUE_LIMITS,
) -> list[Measured]:
    """Measures labels of groups before any model; `table` counts labels."""
    return measure_all(
        "training",
        _build_evidence(table, "labels", "base", BASE_PHRASES, limits, seed=seed, draws=draws),
        metrics,
    )


def _build_evidence(
    table: GroupCounts,
    cell_kind: CellKind,
    rate: str,
    phrases: RatePhrases,
    limits: AllLimits,
    *,
    seed: int,
    draws: int,
) -> TableEvidence:
    counts = table.counts
    weighting = table.counts_weighting
    return TableEvidence(
        groups=table.groups,
        estimates={rate: build_counted_rate(phrases, counts, weighting)},
        cells={cell_kind: build_cells(counts, weighting, seed=seed, draws=draws, tag=1)},
        strata={cell_kind: table.strata} if table.strata else {},
        unclassified=table.unclassified,
        limits=limits,
    )


def _sum_by_correctness(cells: AnyArray) -> AnyArray:
    total: AnyArray = cells[:, :2, :2].sum((1, 2))
    return total


def measure_labelled(
    table: LabelledCells,
    *,
    metrics: Keys = None,
    seed: int = 0,
    draws: int = DRAWS,
    limits: AllLimits = CATALOGUE_LIMITS,
) -> list[Measured]:
    """Measures labels and predictions, overall and per group. Predictions alone are for `measure_as_logged`.

    Arguments are as in `measure_as_logged`. Overall includes ungrouped records: it is the same for every
    attribute.
    """
    counts = table.confusion
    weighting = table.confusion_weighting
    strata = table.strata
    all_cells = PARTS["records"]
    estimates = {
        name: build_counted_rate(
            rate.phrases, counts, weighting, PARTS[rate.counted].sum_cells, PARTS[rate.of_part].sum_cells
        )
        for name, rate in RATES.items()
    }
    for name, counted_part in PARTS.items():
        estimates[f"part:{name}"] = build_counted_rate(
            RatePhrases(name, all_cells.empty), counts, weighting, counted_part.sum_cells, all_cells.sum_cells
        )
    # Labels in neither list are in no rate: one spelled differently would count as a mistake.
    estimates["correct"] = build_counted_rate(
        CORRECT_PHRASES,
        _sum_by_correctness(table.cells),
        table.weighting and table.weighting.apply(_sum_by_correctness),
    )
    label_weighting = weighting and weighting.apply(lambda cells: cells.sum(-1))
    evidence = TableEvidence(
        groups=table.groups,
        estimates=estimates,
        cells={
            "confusion": build_cells(counts, weighting, seed=seed, draws=draws, tag=0),
            "labels": build_cells(counts.sum(-1), label_weighting, seed=seed, draws=draws, tag=1),
        },
        strata={"labels": strata.sum_labels()} if strata else {},
        scores=_find_scores(table, metrics),
        labels=table,
        limits=limits,
    )
    return measure_all("labelled", evidence, metrics)
