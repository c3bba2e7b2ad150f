"""Report on a frame: groups, figures, intervals, verdicts and sentences."""

from dataclasses import asdict

from pandas import DataFrame

from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from ..statistics.catalogue import CATALOGUE
from ..statistics.figure_values import Measured, Undefined, Value
from ..statistics.group_labels import Role
from ..statistics.intervals.verdicts import Verdict
from ..statistics.measures.measure_scores import LabelCounts
from ..statistics.measures.worst_group import judge
from ..statistics.sentences.left_out import CountedRecords
from ..statistics.sentences.statements import JudgedFigure, figure_sentence, gap_statement, limit_statement
from ..statistics.tables.count_table import GroupCounts, LabelledCells

Table = GroupCounts | LabelledCells


@frozen
class GroupSize:
    label: str
    role: Role
    records: int


@frozen_by_name
class Report:
    """Everything measured of one frame. `data` is labelled (labels and predictions), as_logged, or training
    (labels).

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
            {name: value for name, value in _measurement(measured).items() if name != "details"}
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
            "measurements": [_measurement(measured) for measured in self.measured],
        }


def judged(measured: Measured) -> Verdict | None:
    metric = CATALOGUE[measured.metric]
    return judge(measured, metric, metric.limits)


def judged_figure(measured: Measured) -> JudgedFigure:
    number = measured.number if isinstance(measured.number, Value) else None
    choice = measured.for_choice
    return JudgedFigure(
        metric=measured.metric,
        scope=measured.scope,
        value=number.value if number else None,
        lower=number.lower if number else None,
        upper=number.upper if number else None,
        method=number.method if number else None,
        limits=CATALOGUE[measured.metric].limits,
        verdict=judged(measured),
        worst_of=measured.worst_of,
        chosen_lower=choice.lower if choice else None,
        chosen_upper=choice.upper if choice else None,
        details=measured.details,
    )


def describe_measured(measured: Measured) -> str:
    return figure_sentence(
        judged_figure(measured), measured.number.reason if isinstance(measured.number, Undefined) else None
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


def _measurement(measured: Measured) -> JsonObject:
    figure = judged_figure(measured)
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
        "gap": gap_statement(figure),
        "beyond_limit": limit_statement(figure),
        "details": measured.details.to_json(),
    }
