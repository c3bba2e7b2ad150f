"""Report on a frame: groups, figures, intervals, verdicts and sentences."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
from pandas import DataFrame

from ..base.errors import InvalidInput
from ..base.strict_json import JsonObject
from ..base.values import (
    Range,
    Scalar,
    canonical,
    frozen,
    frozen_arrays,
    frozen_by_name,
    name_value,
    quote_names,
)
from ..domain.monitor import Outcome, OutcomeTests, ValueTest, build_outcome_test, is_numeric
from ..sources.arrays.favourable_scores import mark_in_ranges
from ..statistics.catalogue import CATALOGUE
from ..statistics.group_labels import BoolArray, FloatArray, Role
from ..statistics.intervals.verdicts import Measured, Undefined, Value, Verdict
from ..statistics.measures.label_states import LabelCounts
from ..statistics.measures.worst_group import judge
from ..statistics.sentences.left_out import CountedRecords, Marks, count_records
from ..statistics.sentences.statements import JudgedFigure, describe_gap, describe_verdict, phrase_figure
from ..statistics.tables.count_table import GroupCounts, LabelledCells
from .frame_columns import (
    MISSING,
    Codes,
    Column,
    Encoded,
    convert_numbers,
    encode,
    is_numeric_column,
    look_up,
    name_records,
    read_listing,
    require_column,
)
from .frame_groups import FrameGrouping

UNFAVOURABLE, FAVOURABLE, UNCLASSIFIED = map(
    int, (Outcome.UNFAVOURABLE, Outcome.FAVOURABLE, Outcome.UNCLASSIFIED)
)

_ListedValues = tuple[Scalar | Range, ...]

NOT_NUMBERS = "not_numbers"
"""Key of `frame.attrs` under which columns of numbers have a mark [records] on each cell of other text."""


@frozen
class OutcomeLists:
    """Listed outcomes: values, or ranges of numbers. `unfavourable` None: all others.

    Raises:
        InvalidInput: something is listed on both sides.
    """

    favourable: _ListedValues
    unfavourable: _ListedValues | None

    @classmethod
    def of(cls, favourable: object, unfavourable: object) -> "OutcomeLists":
        lists = cls(
            read_listing(favourable, "favourable"),
            None if unfavourable is None else read_listing(unfavourable, "unfavourable"),
        )
        for value in lists.unfavourable or ():
            for favoured in lists.favourable:
                if isinstance(value, Range) != isinstance(favoured, Range):
                    raise InvalidInput(
                        "unfavourable",
                        "lists values where favourable lists ranges, or the other way round; use one form",
                    )
                if isinstance(value, Range) and isinstance(favoured, Range) and value.overlaps(favoured):
                    raise InvalidInput(
                        "unfavourable",
                        f"{name_value(value)} overlaps {name_value(favoured)}, which is favourable (both "
                        "ends belong to a range)",
                    )
                if name_value(value) == name_value(favoured):
                    raise InvalidInput("unfavourable", f"{name_value(value)!r} is listed as favourable, too")
        return lists

    @property
    def is_numeric(self) -> bool:
        """Whether all listed outcomes are numbers or ranges: then no text counts."""
        return all(is_numeric(value) for value in (*self.favourable, *(self.unfavourable or ())))


@frozen_arrays
class FrameOutcomes:
    """Outcomes of a column: `codes` and `is_missing` [records], and `classes` of the distinct values.

    Outcomes that are ranges have no `encoded` values and no classes. Booleans are the classes 1 and 0: for a
    label of 1 a prediction of True is right.
    """

    codes: Codes
    is_missing: BoolArray
    encoded: Encoded | None
    classes: tuple[str, ...] = ()


@frozen_arrays
class KnownOutcomes:
    """Outcomes of the column of labels, of that of predictions, or of both."""

    actual: FrameOutcomes | None
    predicted: FrameOutcomes | None

    @property
    def answers(self) -> str:
        """Kind of the rated outcomes, a key of ANSWERS in `left_out`."""
        return "predictions" if self.predicted else "labels"

    @property
    def rated(self) -> FrameOutcomes:
        """Outcomes of which rates are: the predictions, else the labels."""
        outcomes = self.predicted or self.actual
        assert outcomes is not None, "one of the two is given"  # noqa: S101 - checked with the arguments
        return outcomes


def read_outcomes(
    frame: DataFrame, label: str | None, prediction: str | None, lists: OutcomeLists
) -> KnownOutcomes:
    actual, predicted = (
        None if name is None else classify_outcomes(require_column(frame, name, option), lists, option)
        for name, option in ((label, "label"), (prediction, "prediction"))
    )
    return KnownOutcomes(actual, predicted)


def classify_outcomes(column: Column, lists: OutcomeLists, option: str) -> FrameOutcomes:
    """Classifies each record as 0 unfavourable, 1 favourable, or 2 unclassified or missing.

    Raises:
        InvalidInput: no value of several is favourable, one is on both sides, or a column has ranges and
            no numbers.
    """
    if isinstance(lists.favourable[0], Range):
        numbers = _read_numbers(column, option)
        codes = np.full(numbers.size, UNFAVOURABLE if lists.unfavourable is None else UNCLASSIFIED, np.int8)
        codes[np.isnan(numbers)] = UNCLASSIFIED
        for outcome, listed in ((UNFAVOURABLE, lists.unfavourable or ()), (FAVOURABLE, lists.favourable)):
            codes[mark_in_ranges(numbers, build_outcome_test(listed))] = outcome
        return FrameOutcomes(codes, column.isna().to_numpy(), None)

    encoded = encode(column, option, keeps_types=True)
    favourable = lists.favourable
    unfavourable = lists.unfavourable or ()
    tests = OutcomeTests(
        _build_test(encoded, lists, favourable, unfavourable),
        _build_test(encoded, lists, unfavourable, favourable),
    )
    sides = [
        {encoded.spell(value) for value in listed if not isinstance(value, Range)}
        for listed in (favourable, unfavourable)
    ]
    for text in sides[0] & sides[1]:
        raise InvalidInput("unfavourable", f"{text!r} is listed as favourable, too")
    values = encoded.values  # noqa: PD011 - a column's own member
    outcomes = [int(tests.classify(value)) for value in values]
    if lists.unfavourable is None:
        # Under numbers no text that spells one counts, not even as every other value.
        numerals = encoded.numerals if lists.is_numeric else frozenset()
        outcomes = [
            UNFAVOURABLE if outcome == UNCLASSIFIED and position not in numerals else outcome
            for position, outcome in enumerate(outcomes)
        ]
    if lists.unfavourable is None and len(encoded.texts) > 1 and FAVOURABLE not in outcomes:
        favourable_texts = quote_names(tests.favourable.texts)
        hint = (
            "; a number is listed, and the column holds text: list text, or make numbers of the column"
            if encoded.numerals
            else ""
        )
        raise InvalidInput(
            "favourable",
            f"{favourable_texts} is not a value of {encoded.name!r}, which holds "
            f"{quote_names(list(encoded.count_values()))}{hint}",
        )
    classes = tuple(
        str(int(value)) if isinstance(value, bool) else canonical(value)
        for value in map(tests.read, encoded.values)
    )
    return FrameOutcomes(
        look_up(outcomes, encoded.codes, missing=UNCLASSIFIED), encoded.codes == MISSING, encoded, classes
    )


def match_labels(actual: FrameOutcomes, predicted: FrameOutcomes) -> BoolArray:
    """Mask [records]: the prediction is the label or, of ranges, has its outcome."""
    if actual.encoded is None or predicted.encoded is None:
        return np.asarray((actual.codes == predicted.codes) & (actual.codes != UNCLASSIFIED), bool)
    position_of = {text: position for position, text in enumerate(dict.fromkeys(actual.classes))}
    of_labels = look_up([position_of[text] for text in actual.classes], actual.encoded.codes, missing=MISSING)
    # A prediction that is no label, or missing, gets a number that no label has.
    of_predictions = [position_of.get(text, len(position_of)) for text in predicted.classes]
    is_right = look_up(of_predictions, predicted.encoded.codes, missing=len(position_of)) == of_labels
    # The text "1" is not the number 1 where numbers are the outcomes.
    is_right &= actual.codes == predicted.codes
    return np.asarray(is_right & (actual.encoded.codes != MISSING), bool)


def _build_test(
    encoded: Encoded, lists: OutcomeLists, listed: _ListedValues, opposite: _ListedValues
) -> ValueTest:
    texts = tuple(
        encoded.spell(value) if encoded.is_boolean else canonical(value)
        for value in listed
        if not isinstance(value, Range)
    )
    return ValueTest(
        texts, only_numbers=lists.is_numeric, spellings=build_outcome_test(listed, opposite).spellings
    )


def _read_numbers(column: Column, option: str) -> FloatArray:
    """Numbers [records], NaN for text, booleans and missing values.

    Raises InvalidInput: there is a value, and none is a number.
    """
    if is_numeric_column(column):
        return convert_numbers(column, option)
    not_numbers = column.map(lambda value: isinstance(value, str | bool)).astype(bool)
    if not_numbers.any() and not (column.notna() & ~not_numbers).any():
        first = column[not_numbers].iloc[0]
        raise InvalidInput(
            option,
            f"{column.name!r} must hold numbers, "
            f"found {first!r:.100} in {name_records(not_numbers.to_numpy())}; text is in no range of numbers",
        )
    return convert_numbers(column.mask(not_numbers), option)


def count_left_out(
    frame: DataFrame,
    grouping: FrameGrouping,
    outcomes: KnownOutcomes,
    reasons: Mapping[str, Marks] | None = None,
) -> CountedRecords:
    """Counts records by group and outcome, and those left out; `reasons` are further reasons with the
    records that each marks.
    """
    lacks_value, is_no_number = np.zeros((2, len(frame)), bool)
    for name in grouping.names:
        is_other = frame.attrs.get(NOT_NUMBERS, {}).get(name, np.False_)
        lacks_value |= frame[name].isna().to_numpy() & ~is_other
        is_no_number |= is_other
    return count_records(
        grouping.attribute,
        grouping.groups,
        grouping.codes,
        outcomes.rated.codes,
        answers=outcomes.answers,
        lacks_answer=outcomes.rated.is_missing,
        lacks_value=lacks_value,
        is_no_number=is_no_number,
        excluded=reasons,
    )


Table = GroupCounts | LabelledCells


@frozen
class GroupSize:
    label: str
    role: Role
    records: int


@frozen_by_name
class Report:
    """Report on a frame: everything that was measured. `data` is labelled (labels and predictions),
    as_logged, or training (labels).

    `records` says which are left out. `chosen` says which reference was taken because none was given,
    `warnings` which listed groups have no record. `tables` hold the counts of all figures but those of
    rows: of predictions, and of labels.
    """

    data: str
    attribute: str
    favourable: tuple[str, ...]
    groups: tuple[GroupSize, ...]
    records: CountedRecords
    chosen: str | None
    warnings: tuple[str, ...]
    tables: tuple[Table, ...]
    measured: list[Measured]

    @property
    def labels(self) -> str | None:
        """Sentence on labels that only some records have."""
        cohorts = [table.cohort for table in self.tables if isinstance(table, LabelledCells)]
        return LabelCounts.of(cohorts[0].sum(0)).headline if cohorts and cohorts[0] is not None else None

    def to_frame(self) -> DataFrame:
        """One row per measurement, in catalogue order; missing numbers and open ends are NaN.

        `worst_of` is set on the monitored group furthest out of so many; the chosen ends allow for the
        choice.
        """
        rows = [
            {name: value for name, value in _describe_measurement(measured).items() if name != "details"}
            for measured in self.measured
        ]
        return DataFrame(rows, columns=list(_COLUMN_TYPES)).astype(_COLUMN_TYPES)

    def to_json(self) -> JsonObject:
        """Plain JSON values; a missing number is None with its reason."""
        return {
            "data": self.data,
            "attribute": self.attribute,
            "favourable": list(self.favourable),
            "groups": [asdict(group) for group in self.groups],
            "records": self.records.to_json(),
            "reference_chosen": self.chosen,
            "labels": self.labels,
            "warnings": list(self.warnings),
            "measurements": [_describe_measurement(measured) for measured in self.measured],
        }


def judge_by_catalogue(measured: Measured) -> Verdict | None:
    metric = CATALOGUE[measured.metric]
    return judge(measured, metric, metric.limits)


def build_judged_figure(measured: Measured) -> JudgedFigure:
    number = measured.number if isinstance(measured.number, Value) else None
    choice = measured.interval_of_choice
    return JudgedFigure(
        metric=measured.metric,
        scope=measured.scope,
        value=number.value if number else None,
        lower=number.lower if number else None,
        upper=number.upper if number else None,
        method=number.method if number else None,
        limits=CATALOGUE[measured.metric].limits,
        verdict=judge_by_catalogue(measured),
        worst_of=measured.worst_of,
        chosen_lower=choice.lower if choice else None,
        chosen_upper=choice.upper if choice else None,
        details=measured.details,
    )


def describe_measured(measured: Measured) -> str:
    return phrase_figure(
        build_judged_figure(measured),
        measured.number.reason if isinstance(measured.number, Undefined) else None,
    )


_COLUMN_TYPES = {
    "metric": "str",
    "scope": "str",
    "group": "str",
    "worst_of": "Int64",
    "chosen_lower": "float64",
    "chosen_upper": "float64",
    "value": "float64",
    "lower": "float64",
    "upper": "float64",
    "interval_method": "str",
    "n": "int64",
    "verdict": "str",
    "disadvantaged": "str",
    "disadvantaged_group": "str",
    "lower_limit": "float64",
    "upper_limit": "float64",
    "reason": "str",
    "sentence": "str",
    "gap": "str",
    "beyond_limit": "str",
}


def _describe_measurement(measured: Measured) -> JsonObject:
    figure = build_judged_figure(measured)
    lower_limit, upper_limit = figure.limits
    return {
        "metric": measured.metric,
        "scope": measured.scope,
        "group": measured.group,
        "worst_of": measured.worst_of,
        "chosen_lower": figure.chosen_lower,
        "chosen_upper": figure.chosen_upper,
        "value": figure.value,
        "lower": figure.lower,
        "upper": figure.upper,
        "interval_method": figure.method,
        "n": measured.number.n,
        "verdict": figure.verdict and str(figure.verdict),
        "disadvantaged": figure.disadvantaged and figure.disadvantaged.value,
        "disadvantaged_group": figure.disadvantaged_group,
        "lower_limit": lower_limit,
        "upper_limit": upper_limit,
        "reason": measured.number.reason if isinstance(measured.number, Undefined) else None,
        "sentence": describe_measured(measured),
        "gap": describe_gap(figure),
        "beyond_limit": describe_verdict(figure),
        "details": measured.details.to_json(),
    }
