"""Measurements of a pandas DataFrame, and each record's weight, stratum and score."""

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from pandas import DataFrame

from ..base.errors import InvalidInput, refuse
from ..base.values import name_value
from ..statistics.catalogue import CATALOGUE, metrics_on
from ..statistics.group_labels import FloatArray
from ..statistics.intervals.verdicts import Measured
from ..statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from ..statistics.measures.measure_scores import judge_labels
from ..statistics.records.measure_rows import RowData, measure_rows
from ..statistics.tables.count_table import GroupCounts, LabelledCells
from ..statistics.tables.strata_counts import MOST_STRATA, RecordStrata
from .frame_columns import (
    Column,
    check_frame,
    checked_names,
    convert_complete_numbers,
    convert_numbers,
    encode,
    require_column,
    where,
)
from .frame_groups import FrameGrouping, group_each, group_records
from .frame_report import (
    FAVOURABLE,
    UNFAVOURABLE,
    FrameOutcomes,
    GroupSize,
    KnownOutcomes,
    OutcomeLists,
    Report,
    Table,
    count_left_out,
    read_outcomes,
    same_label,
)
from .name_suggestions import unknown_metrics

DEFAULT = "default"
"""The default ones, and those that a further column was named for."""

USUAL_OF_SCORES = frozenset(
    {
        "generalized_equalized_odds_difference",
        "log_loss",
        "brier_score",
        "roc_auc",
        "calibration_gap",
        "calibration_error",
    }
)

FEWEST_DRAWS = 10

Keys = Collection[str] | str | None

_Data = Literal["as_logged", "labelled", "training"]
_ARGUMENT = {
    "scores": "score",
    "strata": "strata",
    "rows": "features",
    "labels": "label",
    "predictions": "prediction",
}

LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e12
"""Apart from 0: sums of squares stay in the range of floats."""


def measure_frame(
    frame: DataFrame,
    *,
    attribute: str | Sequence[str],
    label: str | None = None,
    prediction: str | None = None,
    score: str | None = None,
    weight: str | None = None,
    strata: str | None = None,
    features: Sequence[str] | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    monitored: object = None,
    reference: object = None,
    metrics: Keys = None,
    seed: int = 0,
    draws: int = 2000,
) -> Report:
    """Measures one attribute of a frame, or several columns together as their intersection.

    `label` and `prediction` name the columns of what was true and of what was predicted; one of them is
    enough for the metrics that need no other. `score` holds probabilities of the favourable outcome, `weight`
    what each record counts, `strata` the classes within which the conditional metrics compare, `features`
    numbers that say which records are alike.

    `favourable`, `unfavourable`, `monitored` and `reference` take a value, a range `(lo, hi)` of a numeric
    column (both ends belong to it), or a list of these; the latter two, for several attributes, a mapping
    from attribute to these. Left out, `unfavourable` is every other value; `group_records` says how groups
    are chosen that are left out.

    `metrics` are keys of the catalogue; None means every metric that the given columns suffice for, DEFAULT
    the usual ones and those that `score`, `strata` or `features` were given for. `seed` and `draws` fix the
    resampling of the intervals.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    source = _Given(
        frame,
        label=label,
        prediction=prediction,
        score=score,
        weight=weight,
        strata=strata,
        features=features,
        favourable=favourable,
        unfavourable=unfavourable,
        metrics=metrics,
        seed=seed,
        draws=draws,
    )
    grouping = group_records(frame, attribute, monitored, reference)
    outcomes = read_outcomes(frame, label, prediction, source.lists)
    return _build_report(source, outcomes, grouping)


def measure_attributes(
    frame: DataFrame,
    *,
    attributes: Sequence[str],
    monitored: object = None,
    reference: object = None,
    **arguments: Any,  # noqa: ANN401 - those of `measure_frame`
) -> dict[str, Report]:
    """Each of several attributes by itself and, last, all of them together: `sex`, `race` and `sex × race`.

    Where some cannot be measured, the warnings of the others say why. The other arguments, and the errors,
    are those of `measure_frame`.
    """
    source = _Given(frame, **arguments)
    groupings = group_each(frame, attributes, monitored, reference)
    outcomes = read_outcomes(frame, source.label, source.prediction, source.lists)
    return {grouping.attribute: _build_report(source, outcomes, grouping) for grouping in groupings}


@dataclass
class _Given:
    frame: DataFrame
    _: KW_ONLY
    label: str | None = None
    prediction: str | None = None
    score: str | None = None
    weight: str | None = None
    strata: str | None = None
    features: Sequence[str] | None = None
    favourable: InitVar[object] = 1
    unfavourable: InitVar[object] = None
    metrics: InitVar[Keys] = None
    seed: int = 0
    draws: int = 2000
    lists: OutcomeLists = field(init=False)
    keys: list[str] = field(init=False)

    def __post_init__(self, favourable: object, unfavourable: object, metrics: Keys) -> None:
        check_frame(self.frame)
        if self.label is None and self.prediction is None:
            raise InvalidInput("prediction", "is needed, or label, or both")
        if self.score is not None and self.prediction is None:
            raise InvalidInput(
                "prediction",
                "is needed with score: scores are compared with what was true and what was predicted",
            )
        self.lists = OutcomeLists.of(favourable, unfavourable)
        self.keys = self._pick_metrics(metrics)
        for name, number, least in (("seed", self.seed, 0), ("draws", self.draws, FEWEST_DRAWS)):
            if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
                raise InvalidInput(name, f"must be a whole number, {least} or more, found {number!r:.100}")

    @property
    def data(self) -> _Data:
        if self.label is None:
            return "as_logged"
        return "training" if self.prediction is None else "labelled"

    def _lacking(self, key: str) -> list[str]:
        return [
            name
            for need in CATALOGUE[key].needs
            if (name := _ARGUMENT.get(need)) and getattr(self, name) is None
        ]

    def _pick_metrics(self, metrics: Keys) -> list[str]:
        # Those of predictions are of all records, whatever the labels.
        kinds = {self.data, self.data if self.prediction is None else "as_logged"}
        here = {row.key for data in kinds for row in metrics_on(data)}
        if metrics == DEFAULT or metrics is None:
            fitting = [
                row
                for key, row in CATALOGUE.items()
                if key in here and not self._lacking(key) and (self.weight is None or not _is_of_rows(key))
            ]
            # All metrics of a need that alone a column was named for are measured.
            columns = (("strata", self.strata), ("rows", self.features))
            on_purpose = {need for need, column in columns if column is not None}
            usual = [
                row
                for row in fitting
                if row.is_default or row.key in USUAL_OF_SCORES or on_purpose & set(row.needs)
            ]
            return [row.key for row in (usual if metrics == DEFAULT and usual else fitting)]
        keys = [metrics] if isinstance(metrics, str) else list(metrics)
        if not keys:
            raise InvalidInput(
                "metrics",
                "must list at least one key; left out, it means every metric that the columns suffice for",
            )
        refuse(unknown_metrics(keys))
        for key in keys:
            if lacking := self._lacking(key):
                raise InvalidInput("metrics", f"{key} needs {' and '.join(lacking)}")
            if self.weight is not None and _is_of_rows(key):
                raise InvalidInput(
                    "metrics", f"{key} counts every record alike; leave out weight, or the metric"
                )
            if key not in here:
                raise InvalidInput(
                    "metrics",
                    f"{key} is measured on {' and '.join(CATALOGUE[key].data)} data only, and this is "
                    f"{self.data} data",
                )
        return [key for key in CATALOGUE if key in keys]


def _is_of_rows(key: str) -> bool:
    return "rows" in CATALOGUE[key].needs


def _count(source: _Given, outcomes: KnownOutcomes, grouping: FrameGrouping) -> tuple[Table, ...]:
    weights = (
        None
        if source.weight is None
        else convert_weights(require_column(source.frame, source.weight, "weight"))
    )
    strata = (
        None
        if source.strata is None
        else encode_strata(require_column(source.frame, source.strata, "strata"))
    )
    scores = None
    if source.score is not None and outcomes.predicted:
        scores = convert_scores(require_column(source.frame, source.score, "score"), outcomes.predicted)
    counted = GroupCounts.from_records(
        grouping.groups,
        grouping.codes,
        outcome=outcomes.rated.codes,
        weights=weights,
        strata=strata,
        scores=scores,
    )
    if not outcomes.actual or not outcomes.predicted:
        return (counted,)
    labelled = LabelledCells.from_records(
        grouping.groups,
        grouping.codes,
        actual=outcomes.actual.codes,
        predicted=outcomes.predicted.codes,
        correct=same_label(outcomes.actual, outcomes.predicted),
        weights=weights,
        strata=strata,
        scores=scores,
    )
    return counted, replace(labelled, cohort=labelled.count_labels())


def _measure(table: Table, source: _Given) -> list[Measured]:
    if isinstance(table, LabelledCells):
        return measure_labelled(table, metrics=source.keys, seed=source.seed, draws=source.draws)
    measure = measure_training if source.prediction is None else measure_as_logged
    return measure(table, metrics=source.keys, seed=source.seed, draws=source.draws)


def _build_report(source: _Given, outcomes: KnownOutcomes, grouping: FrameGrouping) -> Report:
    tables = _count(source, outcomes, grouping)
    measured = [result for table in tables for result in _measure(table, source)]
    of_rows = {key: CATALOGUE[key].formula for key in source.keys if _is_of_rows(key)}
    if of_rows:
        names = checked_names(source.features, "features")
        if not names:
            raise InvalidInput("features", "must name at least one column")
        columns = [
            convert_complete_numbers(require_column(source.frame, name, "features"), "features")
            for name in names
        ]
        rows = RowData(
            groups=grouping.groups,
            codes=grouping.codes.astype(int),
            features=np.column_stack(columns),
            predicted=outcomes.predicted.codes.astype(int) if outcomes.predicted else None,
            actual=outcomes.actual.codes.astype(int) if outcomes.actual else None,
        )
        labelled = tables[-1]
        for result in measure_rows(rows, of_rows):
            needs_labels = "labels" in CATALOGUE[result.metric].needs
            measured += (
                judge_labels([result], labelled)
                if needs_labels and isinstance(labelled, LabelledCells)
                else [result]
            )

    order = {key: position for position, key in enumerate(CATALOGUE)}
    return Report(
        data=source.data,
        attribute=grouping.attribute,
        favourable=tuple(map(name_value, source.lists.favourable)),
        groups=tuple(
            GroupSize(*group, count)
            for group, count in zip(grouping.groups, grouping.sizes.tolist(), strict=False)
        ),
        records=count_left_out(source.frame, grouping, outcomes),
        chosen=grouping.chosen,
        warnings=grouping.warnings,
        tables=tables,
        measured=sorted(measured, key=lambda result: order[result.metric]),
    )


def convert_weights(column: Column) -> FloatArray:
    """Raises InvalidInput: a weight is missing, not a number, negative, or beyond the bounds."""
    weights = convert_complete_numbers(column, "weight")
    wrong = (weights != 0) & ((weights < LEAST_WEIGHT) | (weights > MOST_WEIGHT))
    if wrong.any():
        raise InvalidInput(
            "weight",
            f"{column.name!r} must hold 0 or numbers from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g},"
            f" found {weights[wrong][0]:g} in {where(wrong)}",
        )
    return weights


def encode_strata(column: Column) -> RecordStrata:
    """Raises InvalidInput: there are too many."""
    encoded = encode(column, "strata")
    if len(encoded.texts) > MOST_STRATA:
        raise InvalidInput(
            "strata",
            f"{column.name!r} holds {len(encoded.texts):,} different values where at most {MOST_STRATA:,} "
            "are compared",
        )
    return RecordStrata(encoded.texts, encoded.codes)


def convert_scores(column: Column, predicted: FrameOutcomes) -> FloatArray:
    """NaN where there is none.

    Raises:
        InvalidInput: one is not a probability, or they are those of the other outcome.
    """
    scores = convert_numbers(column, "score")
    with np.errstate(invalid="ignore"):
        outside = (scores < 0) | (scores > 1)
    if outside.any():
        raise InvalidInput(
            "score",
            f"{column.name!r} must hold probabilities between 0 and 1, found {scores[outside][0]:g} in "
            f"{where(outside)}",
        )
    # Unlike max and min these skip NaN.
    highest = np.fmax.reduce(scores[predicted.codes == FAVOURABLE], initial=-np.inf)
    lowest = np.fmin.reduce(scores[predicted.codes == UNFAVOURABLE], initial=np.inf)
    # An infinite end means that one side has no score.
    if -np.inf < highest < lowest < np.inf:
        raise InvalidInput(
            "score",
            f"{column.name!r} is higher for every unfavourable prediction than for any favourable one: it "
            "must be the probability of the favourable outcome, so take 1 - score",
        )
    return scores
