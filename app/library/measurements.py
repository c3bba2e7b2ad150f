"""Measurements of a pandas DataFrame, and each record's weight, stratum and score."""

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from pandas import DataFrame

from ..base.errors import InvalidInput, refuse
from ..base.values import name_value
from ..statistics.catalogue import CATALOGUE, list_metrics_on
from ..statistics.group_labels import FloatArray
from ..statistics.intervals.verdicts import Measured
from ..statistics.measures.label_states import judge_labels
from ..statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from ..statistics.records.measure_rows import RowData, measure_rows
from ..statistics.tables.count_table import GroupCounts, LabelledCells
from ..statistics.tables.strata_counts import MAX_STRATA, RecordStrata
from .frame_columns import (
    Column,
    check_frame,
    check_names,
    convert_complete_numbers,
    convert_numbers,
    encode,
    name_records,
    require_column,
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
    match_labels,
    read_outcomes,
)
from .name_suggestions import find_unknown_metrics

DEFAULT = "default"

USUAL_SCORE_METRICS = frozenset(
    {
        "generalized_equalized_odds_difference",
        "log_loss",
        "brier_score",
        "roc_auc",
        "calibration_gap",
        "calibration_error",
    }
)

MIN_DRAWS = 10

Keys = Collection[str] | str | None

_Data = Literal["as_logged", "labelled", "training"]
_ARGUMENT_OF_INPUT = {
    "scores": "score",
    "strata": "strata",
    "rows": "features",
    "labels": "label",
    "predictions": "prediction",
}

MIN_WEIGHT = 1e-12
MAX_WEIGHT = 1e12
"""Weights of a record that does not weigh 0: sums of squares stay in the range of floats."""


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
    arguments = _Arguments(
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
    outcomes = read_outcomes(frame, label, prediction, arguments.lists)
    return _build_report(arguments, outcomes, grouping)


def measure_attributes(
    frame: DataFrame,
    *,
    attributes: Sequence[str],
    monitored: object = None,
    reference: object = None,
    **arguments: Any,  # noqa: ANN401 - those of `measure_frame`
) -> dict[str, Report]:
    """Measures several attributes, each by itself and, last, all together: `sex`, `race` and `sex × race`.

    Where some cannot be measured, the warnings of the others say why. The other arguments, and the errors,
    are those of `measure_frame`.
    """
    options = _Arguments(frame, **arguments)
    groupings = group_each(frame, attributes, monitored, reference)
    outcomes = read_outcomes(frame, options.label, options.prediction, options.lists)
    return {grouping.attribute: _build_report(options, outcomes, grouping) for grouping in groupings}


@dataclass
class _Arguments:
    """Arguments of `measure_frame`, checked, but for those on groups."""

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
        for name, number, least in (("seed", self.seed, 0), ("draws", self.draws, MIN_DRAWS)):
            if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
                raise InvalidInput(name, f"must be a whole number, {least} or more, found {number!r:.100}")

    @property
    def data(self) -> _Data:
        if self.label is None:
            return "as_logged"
        return "training" if self.prediction is None else "labelled"

    def _list_lacking(self, key: str) -> list[str]:
        return [
            name
            for need in CATALOGUE[key].needs
            if (name := _ARGUMENT_OF_INPUT.get(need)) and getattr(self, name) is None
        ]

    def _pick_metrics(self, metrics: Keys) -> list[str]:
        data_kinds = {self.data, self.data if self.prediction is None else "as_logged"}
        measurable = {row.key for data in data_kinds for row in list_metrics_on(data)}
        if metrics == DEFAULT or metrics is None:
            fitting = [
                row
                for key, row in CATALOGUE.items()
                if key in measurable
                and not self._list_lacking(key)
                and (self.weight is None or not _is_of_rows(key))
            ]
            # All metrics of a need that alone a column was named for are measured.
            columns = (("strata", self.strata), ("rows", self.features))
            named_needs = {need for need, column in columns if column is not None}
            usual = [
                row
                for row in fitting
                if row.is_default or row.key in USUAL_SCORE_METRICS or named_needs & set(row.needs)
            ]
            return [row.key for row in (usual if metrics == DEFAULT and usual else fitting)]
        keys = [metrics] if isinstance(metrics, str) else list(metrics)
        if not keys:
            raise InvalidInput(
                "metrics",
                "must list at least one key; left out, it means every metric that the columns suffice for",
            )
        refuse(find_unknown_metrics(keys))
        for key in keys:
            if lacking := self._list_lacking(key):
                raise InvalidInput("metrics", f"{key} needs {' and '.join(lacking)}")
            if self.weight is not None and _is_of_rows(key):
                raise InvalidInput(
                    "metrics", f"{key} counts every record alike; leave out weight, or the metric"
                )
            if key not in measurable:
                raise InvalidInput(
                    "metrics",
                    f"{key} is measured on {' and '.join(CATALOGUE[key].data)} data only, and this is "
                    f"{self.data} data",
                )
        return [key for key in CATALOGUE if key in keys]


def _is_of_rows(key: str) -> bool:
    return "rows" in CATALOGUE[key].needs


def _count_records(
    arguments: _Arguments, outcomes: KnownOutcomes, grouping: FrameGrouping
) -> tuple[Table, ...]:
    weights = (
        None
        if arguments.weight is None
        else convert_weights(require_column(arguments.frame, arguments.weight, "weight"))
    )
    strata = (
        None
        if arguments.strata is None
        else encode_strata(require_column(arguments.frame, arguments.strata, "strata"))
    )
    scores = None
    if arguments.score is not None and outcomes.predicted:
        scores = convert_scores(require_column(arguments.frame, arguments.score, "score"), outcomes.predicted)
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
        correct=match_labels(outcomes.actual, outcomes.predicted),
        weights=weights,
        strata=strata,
        scores=scores,
    )
    return counted, replace(labelled, cohort=labelled.count_labels())


def _measure(table: Table, arguments: _Arguments) -> list[Measured]:
    if isinstance(table, LabelledCells):
        return measure_labelled(table, metrics=arguments.keys, seed=arguments.seed, draws=arguments.draws)
    measure = measure_training if arguments.prediction is None else measure_as_logged
    return measure(table, metrics=arguments.keys, seed=arguments.seed, draws=arguments.draws)


def _build_report(arguments: _Arguments, outcomes: KnownOutcomes, grouping: FrameGrouping) -> Report:
    tables = _count_records(arguments, outcomes, grouping)
    measured = [result for table in tables for result in _measure(table, arguments)]
    row_formulas = {key: CATALOGUE[key].formula for key in arguments.keys if _is_of_rows(key)}
    if row_formulas:
        names = check_names(arguments.features, "features")
        if not names:
            raise InvalidInput("features", "must name at least one column")
        columns = [
            convert_complete_numbers(require_column(arguments.frame, name, "features"), "features")
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
        for result in measure_rows(rows, row_formulas):
            needs_labels = "labels" in CATALOGUE[result.metric].needs
            measured += (
                judge_labels([result], labelled)
                if needs_labels and isinstance(labelled, LabelledCells)
                else [result]
            )

    order = {key: position for position, key in enumerate(CATALOGUE)}
    return Report(
        data=arguments.data,
        attribute=grouping.attribute,
        favourable=tuple(map(name_value, arguments.lists.favourable)),
        groups=tuple(
            GroupSize(*group, count)
            for group, count in zip(grouping.groups, grouping.sizes.tolist(), strict=False)
        ),
        records=count_left_out(arguments.frame, grouping, outcomes),
        chosen=grouping.chosen,
        warnings=grouping.warnings,
        tables=tables,
        measured=sorted(measured, key=lambda result: order[result.metric]),
    )


def convert_weights(column: Column) -> FloatArray:
    """Weights [records]. Raises InvalidInput: one is missing, no number, negative, or beyond the bounds."""
    weights = convert_complete_numbers(column, "weight")
    is_beyond = (weights != 0) & ((weights < MIN_WEIGHT) | (weights > MAX_WEIGHT))
    if is_beyond.any():
        raise InvalidInput(
            "weight",
            f"{column.name!r} must hold 0 or numbers from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, "
            f"found {weights[is_beyond][0]:g} in {name_records(is_beyond)}",
        )
    return weights


def encode_strata(column: Column) -> RecordStrata:
    """Strata by the values of a column. Raises InvalidInput: there are too many."""
    encoded = encode(column, "strata")
    if len(encoded.texts) > MAX_STRATA:
        raise InvalidInput(
            "strata",
            f"{column.name!r} holds {len(encoded.texts):,} different values where at most {MAX_STRATA:,} "
            "are compared",
        )
    return RecordStrata(encoded.texts, encoded.codes)


def convert_scores(column: Column, predicted: FrameOutcomes) -> FloatArray:
    """Scores [records], NaN where there is none.

    Raises InvalidInput: one is not a probability, or they are those of the other outcome.
    """
    scores = convert_numbers(column, "score")
    with np.errstate(invalid="ignore"):
        outside = (scores < 0) | (scores > 1)
    if outside.any():
        raise InvalidInput(
            "score",
            f"{column.name!r} must hold probabilities between 0 and 1, found {scores[outside][0]:g} in "
            f"{name_records(outside)}",
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
