"""Golden records as tables, and golden figures beside ours. A figure is equal, or its test lists it as a quirk; nothing else passes."""

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from app.statistics.intervals.verdicts import Measured, Undefined, Value
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.builders.results import only_group
from tests.golden import golden

EXACT = 1e-9
DRAWS = 40
"""Few, for speed: draws make the intervals, and these tests look at the values."""

Number: TypeAlias = Value | Undefined
Found: TypeAlias = Mapping[tuple[str, str, str | None], Number]
"""Numbers by metric, scope and group."""

Mask: TypeAlias = npt.NDArray[np.bool_]
Scores: TypeAlias = npt.NDArray[np.float64]
Texts: TypeAlias = npt.NDArray[np.str_]
Members: TypeAlias = Mapping[str, Mask]
"""Who belongs to each group, by the group's label."""

CASES = ("A1_adult", "A2_openscale_credit_risk")
EDGE_CASES = (
    "E01_baseline",
    "E02_d_no_predicted_positive",
    "E03_a_no_predicted_positive",
    "E04_nobody_predicted_positive",
    "E05_d_no_false_positive",
    "E06_both_no_false_positive",
    "E07_d_no_actual_positive",
    "E08_perfect_predictions",
    "E09_all_false_negative",
    "E10_all_positive_everything",
    "E11_single_row_groups",
    "E12_simpson_two_strata",
    "E13_stratum_all_positive",
)


class Quirk(NamedTuple):
    """A golden value that is not ours.

    `where` is the case and its part, `theirs` the golden value ("NaN", "Infinity", or an exception's name for what is no
    number), `ours` our value, or words out of the reason why there is none.
    """

    where: str
    name: str
    theirs: float | str
    ours: float | str


class Records(NamedTuple):
    """The columns of some rows, of equal length. Outcomes are 1 (favourable) and 0."""

    columns: Mapping[str, Texts]
    actual: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    scores: Scores
    strata: Texts

    def where(self, keep: Mask) -> "Records":
        """Some of the rows."""
        columns = {name: column[keep] for name, column in self.columns.items()}
        return Records(columns, self.actual[keep], self.predicted[keep], self.scores[keep], self.strata[keep])

    def members(self, column: str, values: Iterable[str]) -> dict[str, Mask]:
        """Each value of a column as a group."""
        return {value: self.columns[column] == value for value in values}


@cache
def golden_json(name: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """A golden file, parsed."""
    return json.loads(golden(name).read_text(encoding="utf-8"))


@cache
def records_of(case: str) -> Records:
    """The rows of a model case; its conditional variable gives the strata."""
    with (golden(case) / "predictions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return _records(rows, golden_json(f"{case}/spec.json")["conditional_variable"])


@cache
def edge_records(case: str) -> Records:
    """The rows of an edge case."""
    counted = golden_json("A3_edge_cases.json")["cases"][case]["rows"]
    return _records([row for row in counted for _ in range(row["count"])], "stratum")


def _records(rows: Sequence[Mapping[str, Any]], strata: str) -> Records:
    columns = {name: np.array([str(row[name]) for row in rows]) for name in rows[0]}
    actual, predicted = (columns[name].astype(np.int64) for name in ("label", "prediction"))
    return Records(columns, actual, predicted, columns["score"].astype(np.float64), columns[strata])


def feedback_table(records: Records, monitored: Members, reference: Members, scores: Scores | None = None) -> LabelledCells:
    """Labels, predictions and any scores by group and stratum."""
    groups, codes = _coded(records, monitored, reference)
    return LabelledCells.from_records(
        groups,
        codes,
        actual=records.actual,
        predicted=records.predicted,
        correct=(records.actual == records.predicted).astype(np.int64),
        strata=_strata(records),
        scores=scores,
    )


def outcome_table(records: Records, outcomes: npt.NDArray[np.int64], monitored: Members, reference: Members) -> GroupCounts:
    """One outcome, the label or the prediction, by group and stratum."""
    groups, codes = _coded(records, monitored, reference)
    return GroupCounts.from_records(groups, codes, outcome=outcomes, strata=_strata(records))


def _coded(records: Records, monitored: Members, reference: Members) -> tuple[list[tuple[str, Any]], npt.NDArray[np.int64]]:
    codes = np.full(len(records.actual), -1)
    for position, mask in enumerate((*monitored.values(), *reference.values())):
        codes[mask] = position
    return [*((label, "monitored") for label in monitored), *((label, "reference") for label in reference)], codes


def _strata(records: Records) -> tuple[list[str], npt.NDArray[np.int64]]:
    labels, codes = np.unique(records.strata, return_inverse=True)
    return labels.tolist(), codes


def feedback_numbers(records: Records, monitored: Members, reference: Members, scores: Scores | None = None) -> Found:
    """What is found of labels and of predictions."""
    of_labels = numbers(measure_labelled(feedback_table(records, monitored, reference, scores), draws=DRAWS))
    return payload_numbers(records, monitored, reference) | of_labels


def payload_numbers(records: Records, monitored: Members, reference: Members) -> Found:
    """What `measure_as_logged` finds."""
    return numbers(measure_as_logged(outcome_table(records, records.predicted, monitored, reference), draws=DRAWS))


def training_numbers(records: Records, monitored: Members, reference: Members) -> Found:
    """What `measure_training` finds in the labels."""
    return numbers(measure_training(outcome_table(records, records.actual, monitored, reference), draws=DRAWS))


def numbers(measured: Iterable[Measured]) -> Found:
    """The numbers by metric, scope and group; each is measured once. A role of one group has this group's."""
    results = list(measured)
    every = [((figure.metric, figure.scope, figure.group), figure.number) for figure in results]
    twice = [key for key, times in Counter(key for key, _ in every).items() if times > 1]
    assert twice == [], twice
    found = dict(every)
    for scope in ("pooled", "reference"):
        only = only_group(results, scope)
        found |= {(metric, scope, None): number for (metric, _, group), number in every if only is not None and group == only}
    return found


def disagreements(where: str, expected: Mapping[str, Any], ours: Mapping[str, Number], quirks: Iterable[Quirk]) -> list[str]:
    """A sentence for each golden value that is neither ours nor listed, and for each listed one that is not as listed."""
    listed = {quirk.name: quirk for quirk in quirks if quirk.where == where}
    found = [f"{name} is listed but not golden" for name in sorted(listed.keys() - expected.keys())]
    for name, value in expected.items():
        quirk = listed.get(name)
        if quirk is None:
            if not _equal(value, ours[name]):
                found.append(f"{where} {name}: {value} is golden, ours is {ours[name]}")
        elif _equal(value, ours[name]):
            found.append(f"{where} {name}: listed as a quirk, but {value} is ours too")
        elif not _as_listed(quirk, value, ours[name]):
            found.append(f"{where} {name}: {value} is golden, ours is {ours[name]}, listed are {quirk.theirs} and {quirk.ours}")
    return found


def plain(number: Number) -> float:
    """The value, which has to be there."""
    assert isinstance(number, Value), number
    return number.value


def _equal(expected: Any, number: Number) -> bool:  # noqa: ANN401 - a JSON value
    if not isinstance(number, Value) or not isinstance(expected, int | float):
        return False
    # Indexes of 0.00001 would be equal to almost anything within 1e-9.
    return abs(number.value - expected) <= EXACT and math.isclose(number.value, expected, rel_tol=1e-6, abs_tol=1e-12)


def _as_listed(quirk: Quirk, expected: Any, number: Number) -> bool:  # noqa: ANN401 - a JSON value
    theirs = expected["error"] if isinstance(expected, dict) else expected
    if isinstance(theirs, str) or isinstance(quirk.theirs, str):
        is_theirs = theirs == quirk.theirs
    else:
        is_theirs = math.isclose(theirs, quirk.theirs, rel_tol=0, abs_tol=EXACT)
    if isinstance(number, Undefined):
        return is_theirs and isinstance(quirk.ours, str) and quirk.ours in number.reason
    return is_theirs and isinstance(quirk.ours, float) and _equal(quirk.ours, number)
