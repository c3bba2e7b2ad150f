"""Counts the records of a check that its figures leave out, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...domain.check import DataSet
from ...domain.groups import GroupWords
from ...domain.monitor import Comparison, Outcome, list_comparisons
from ...sources.arrays.read_records import RecordTable
from ...statistics.group_labels import IntArray, build_groups
from ...statistics.sentences.left_out import REASONS_WITHOUT_GROUP, CountedRecords, Marks, count_records
from ...statistics.tables.count_table import MitigatedLabelledCells
from ...statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from ..copies.copy_outcomes import CopyOutcomes
from ..subject import Subject
from ..window.labelled_window import LabelledWindow, PredictedLabels
from ..window.window_records import CheckEvidence
from .tabulate import LOGGED_AS, PeriodTables

LEFT_OUT = "left_out"
"""Member of a window: JSON of counted and left out records, by data set and label of the comparison."""

IN_NO_GROUP = "records_in_no_group"
"""Member of a window: numbers of logged records in no group, by label of the comparison."""


def count_table_records(
    records: RecordTable,
    comparison: Comparison,
    *,
    answers: str | None = "predictions",
    excluded: Mapping[str, Marks] | None = None,
    repeats: IntArray | None = None,
    where: Marks | slice = slice(None),
) -> CountedRecords:
    """Counts the records `where` (default: all); `excluded` marks those left out for further reasons.

    `answers` are named as in `count_records`. With `repeats`, each row represents that many equal records.
    """
    groups, codes = records.compare(comparison)
    columns = [
        records.values(attribute.feature)
        for attribute in comparison.members(records.monitor)
        if attribute.rule is None
    ]
    lacks_value = np.logical_or.reduce([np.zeros(len(records), np.bool_), *map(_mark_missing, columns)])
    lacks_answer = _mark_missing(records.columns.answers)
    # Only a correction stores JSON's null.
    excluded = {
        "corrected_away": pc.is_in(records.columns.answers, pa.array(["null"])).to_numpy(),
        **(excluded or {}),
    }
    return count_records(
        comparison.label,
        build_groups(groups),
        codes[where],
        records.outcomes[where],
        answers=answers,
        lacks_answer=lacks_answer[where],
        lacks_value=lacks_value[where],
        excluded={reason: marks[where] for reason, marks in excluded.items()},
        repeats=None if repeats is None else repeats[where],
    )


def leave_out_unanswered(
    compared: CountedRecords, cells: CounterfactualCells | MitigatedCells | MitigatedLabelledCells
) -> CountedRecords:
    """Leaves out the compared records, logged or labelled, that these cells do not count."""
    if isinstance(cells, MitigatedLabelledCells):
        counts = cells.label_changes[:-1].sum(axis=(1, 3))
    else:
        counts = cells.outcomes.reshape(len(cells.groups), 2, -1).sum(axis=2)
    return replace(compared, answers=None).leave_out(
        "not_rescored" if isinstance(cells, CounterfactualCells) else "not_mitigated", counts
    )


def describe_left_out(
    subject: Subject,
    evidence: CheckEvidence,
    labels: LabelledWindow | None,
    predicted: PredictedLabels,
    payload: Mapping[str, CountedRecords] | None,
    mitigated: Sequence[PeriodTables],
) -> dict[str, Any]:
    """Describes as members of a window what each data set counts and leaves out.

    `payload` are the counted records by label of the comparison, if they exceed the window; only records in
    files do, which are not mitigated. `mitigated` are tables of mitigated data.
    """
    records_by_data: dict[DataSet, list[CountedRecords]] = {data: [] for data in DataSet}
    window = evidence.window
    weights = window.weights()
    counts_without_group = {
        "beyond_newest": window.logged_in_span - window.own,
        "sampled_out": 0 if weights is None else round(float((weights - 1).sum())),
    }
    copies_by_attribute = {copies.grouping.column.name: copies for copies in evidence.copies}
    for comparison in list_comparisons(subject.monitor):
        records_by_data[DataSet.AS_LOGGED].append(
            count_table_records(evidence.table, comparison).add_ungrouped(**counts_without_group)
            if payload is None
            else payload[comparison.label]
        )
        if comparison.label in copies_by_attribute:
            copied = _count_copied(comparison, evidence, copies_by_attribute[comparison.label])
            records_by_data[DataSet.COUNTERFACTUAL].append(copied.add_ungrouped(**counts_without_group))
        if labels:
            records_by_data[DataSet.LABELLED].append(_count_labels(comparison, evidence, labels, predicted))
        for tables in mitigated:
            if tables.comparison == comparison:
                compared = records_by_data[LOGGED_AS[tables.data]][-1]
                cells = cast("MitigatedCells | MitigatedLabelledCells", tables.whole)
                records_by_data[tables.data].append(leave_out_unanswered(compared, cells))
    placeholders = {"newest": f"{subject.monitor.max_records:,}", "other": "the table of the records"}
    name = GroupWords.of(subject.monitor).label
    return {
        LEFT_OUT: {
            data.value: {
                records.attribute: replace(records, words=placeholders).named(name).to_json()
                for records in counted
            }
            for data, counted in records_by_data.items()
            if counted
        },
        IN_NO_GROUP: {
            records.attribute: sum(
                int(records.left_out[reason].sum())
                for reason in REASONS_WITHOUT_GROUP & records.left_out.keys()
            )
            for records in records_by_data[DataSet.AS_LOGGED]
        },
    }


def _count_copied(comparison: Comparison, evidence: CheckEvidence, copies: CopyOutcomes) -> CountedRecords:
    is_not_rescored = copies.not_scored | ~evidence.window.mark_revision(evidence.model_revision)
    records = count_table_records(evidence.table, comparison, excluded={"not_rescored": is_not_rescored})
    return replace(records, answers=None)


def _count_labels(
    comparison: Comparison, evidence: CheckEvidence, labels: LabelledWindow, predicted: PredictedLabels
) -> CountedRecords:
    is_unlisted = labels.comparison.actual == Outcome.UNCLASSIFIED
    records = count_table_records(
        labels.table, comparison, answers=None, excluded={"label_unlisted": is_unlisted}
    )
    refused = len(predicted.refused)
    unanswered = len(evidence.feedback) - len(predicted.window) - refused
    return records.add_ungrouped(
        not_rescored=refused, no_prediction=unanswered, no_partner=evidence.labels_without_record
    )


def _mark_missing(column: pa.ChunkedArray) -> Marks:
    return np.asarray(column.is_null().to_numpy(), dtype=np.bool_)
