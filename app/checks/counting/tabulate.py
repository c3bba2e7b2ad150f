"""Reduces a window to small count tables. Source: spec of the fairness check, section 5.

Each table is made twice: of the span's records, and of additional ones from before it. A check's metrics read
both; roll-ups read only the span's, so that no record counts twice. Records of other model revisions are in
no group of counterfactual and mitigated data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...domain.check import DataSet
from ...domain.monitor import Comparison, Monitor, list_comparisons
from ...sources.arrays.read_records import ColumnStrata, RecordTable
from ...statistics.group_labels import FloatArray, IntArray, build_groups
from ...statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from ...statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from ...statistics.tables.strata_counts import RecordStrata
from ..copies.copy_outcomes import CopyOutcomes
from ..copies.repeats import count_repeats
from ..result_queries import StoredTable
from ..window.labelled_window import LabelledWindow
from ..window.window import RowSelection, Window
from ..window.window_records import CheckEvidence
from .other_revisions import OTHER_REVISIONS, OtherRevisions
from .sub_ranges import add_up_sub_ranges, count_sub_ranges

Table = GroupCounts | CounterfactualCells | LabelledCells | MitigatedCells | MitigatedLabelledCells
TABLE_TYPES: dict[DataSet, type[Table]] = {
    DataSet.AS_LOGGED: GroupCounts,
    DataSet.COUNTERFACTUAL: CounterfactualCells,
    DataSet.LABELLED: LabelledCells,
    DataSet.TRAINING: GroupCounts,
    DataSet.MITIGATED: MitigatedCells,
    DataSet.MITIGATED_LABELLED: MitigatedLabelledCells,
}

LOGGED_AS = {
    DataSet.COUNTERFACTUAL: DataSet.AS_LOGGED,
    DataSet.MITIGATED: DataSet.AS_LOGGED,
    DataSet.MITIGATED_LABELLED: DataSet.LABELLED,
}
"""Data sets made of answers of the model, with the logged ones that they are made for."""

EVERYBODY = Comparison(())
"""Comparison of the tables in which all records are one group."""

IN_SPAN = "span"
ADDITIONAL = "additional"
"""Parts of a window, which are stored as tables of their own."""

# Members of a stored table:
STRATA_OF = "strata_of"
"""Column whose values divide the records."""

MITIGATED = "mitigated"
"""Mode of the mitigation."""

PIECES = "pieces"
"""The span's records by model revision where there are several, labels also by the hour of their record. The
check's own hour is that of their arrival.
"""

Piece = tuple[str | None, str]
"""Hour in ISO 8601 (None: any, or a label without a record), and model revision."""


@frozen
class PeriodTables:
    """Count tables of one comparison; `periods` are the span, and the additional records before it.

    `strata` is the dividing column, `lacking` says why strata or scores are missing, `mitigated` is the mode
    of the mitigation. For each period, `sub_ranges` counts outcomes by intervals of ranges, and `revisions`
    the records in the table and those of other revisions, left out. `pieces` are of the span alone.
    """

    data: DataSet
    comparison: Comparison
    periods: Sequence[Table]
    strata: str | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    mitigated: str | None = None
    sub_ranges: Sequence[JsonObject] = ({}, {})
    revisions: tuple[OtherRevisions, ...] = ()
    pieces: Mapping[Piece, Table] = field(default_factory=dict)

    @property
    def other_revisions(self) -> OtherRevisions | None:
        """Counts of both periods together; None where every revision is in."""
        return OtherRevisions.merge(self.revisions)

    @property
    def whole(self) -> Table:
        return merge_tables(self.data, self.periods)

    def plus(self, added: "PeriodTables") -> "PeriodTables":
        return replace(
            self,
            periods=[merge_tables(self.data, pair) for pair in zip(self.periods, added.periods, strict=True)],
            sub_ranges=[
                add_up_sub_ranges(list(filter(None, pair)))
                for pair in zip(self.sub_ranges, added.sub_ranges, strict=True)
            ],
            lacking={**self.lacking, **added.lacking},
            pieces={
                piece: merge_tables(
                    self.data, [table.pieces[piece] for table in (self, added) if piece in table.pieces]
                )
                for piece in {**self.pieces, **added.pieces}
            },
        )

    def list_stored(self) -> list[StoredTable]:
        settings = {}
        if self.strata is not None:
            settings[STRATA_OF] = self.strata
        if self.mitigated is not None:
            settings[MITIGATED] = self.mitigated
        members: list[JsonObject] = [{}, {}]
        if self.revisions:
            members = [{OTHER_REVISIONS: revisions.to_json()} for revisions in self.revisions]
        if len(self.pieces) > 1 or self.data is DataSet.LABELLED:
            members[0][PIECES] = [
                {"hour": hour, "revision": revision, "cells": table.to_json()}
                for (hour, revision), table in sorted(self.pieces.items(), key=str)
            ]
        parts = zip((IN_SPAN, ADDITIONAL), self.periods, self.sub_ranges, members, strict=True)
        return [
            StoredTable(
                self.data, self.comparison, part, table.to_json() | settings | dict(sub_ranges) | further
            )
            for part, table, sub_ranges, further in parts
        ]


def find_table_data(data: DataSet) -> DataSet:
    return DataSet.COUNTERFACTUAL if data is DataSet.OPENSCALE else data


def list_measured_data(table_data: DataSet) -> tuple[DataSet, ...]:
    """Lists the data whose figures are measured on tables of `table_data`."""
    return tuple(data for data in DataSet if find_table_data(data) is table_data)


def merge_tables(data: DataSet, tables: Sequence[Any]) -> Table:
    return TABLE_TYPES[data].merge(tables)


def tabulate(
    evidence: CheckEvidence,
    labels: LabelledWindow | None,
    monitor: Monitor,
    payload: Sequence[PeriodTables] | None = None,
) -> list[PeriodTables]:
    """Counts the records, copies and labels of a check; `payload` are tables already counted in files."""
    comparisons = list_comparisons(monitor)
    if payload is None:
        window = evidence.window
        revisions = _find_revisions(window, evidence)
        payload = [
            count_payload(
                evidence.table,
                comparison,
                window.parts(),
                weights=window.weights(),
                record_revisions=revisions if len(pc.unique(revisions)) > 1 else None,
            )
            for comparison in comparisons
        ]
    tables = list(payload)
    tables += [_count_counterfactual(evidence, copies) for copies in evidence.copies]
    if labels:
        tables += [
            _count_labels(labels, comparison, _find_revisions(labels.window, evidence))
            for comparison in [EVERYBODY, *comparisons]
        ]
    return tables


def count_payload(
    records: RecordTable,
    comparison: Comparison,
    parts: Sequence[RowSelection],
    *,
    weights: FloatArray | None = None,
    repeats: IntArray | None = None,
    record_revisions: pa.ChunkedArray | None = None,
) -> PeriodTables:
    """Counts records by group; ranges of one attribute also by intervals inside them.

    With `repeats`, each row represents that many equal records without weights. `record_revisions` are the
    model revisions of the span's records, which come first.
    """
    groups, codes = records.compare(comparison)
    scores = records.scores.values if records.scores else None

    def count_selected(selected: RowSelection) -> GroupCounts:
        return GroupCounts.from_records(
            build_groups(groups),
            codes[selected],
            outcome=records.outcomes[selected],
            weights=None if weights is None else weights[selected],
            strata=_select_strata(records.strata, selected),
            repeats=None if repeats is None else repeats[selected],
            scores=None if scores is None else scores[selected],
        )

    pieces = {}
    if record_revisions is not None:
        pieces = {piece: count_selected(rows) for piece, rows in _divide_by_revision(record_revisions)}
    sub_ranges: Sequence[JsonObject] = ({}, {})
    attributes = comparison.members(records.monitor)
    if len(attributes) == 1 and attributes[0].rule is None:
        feature = attributes[0].feature
        grouping = records.grouping(feature)
        values = records.values(feature)
        sub_ranges = [
            count_sub_ranges(grouping, values, records.outcomes, selected, repeats) for selected in parts
        ]
    return PeriodTables(
        DataSet.AS_LOGGED,
        comparison,
        [count_selected(selected) for selected in parts],
        strata=records.strata.column if records.strata else None,
        lacking=_find_lacking(records),
        sub_ranges=sub_ranges,
        pieces=pieces,
    )


def _find_revisions(window: Window, evidence: CheckEvidence) -> pa.ChunkedArray:
    """Finds the model revision of each record of the span; the present one where none is stored."""
    return pc.fill_null(window.rows["model_revision"].slice(0, window.own), evidence.model_revision)


def _divide_by_revision(
    record_revisions: pa.ChunkedArray, times: pa.ChunkedArray | None = None
) -> Iterator[tuple[Piece, IntArray]]:
    names = record_revisions.combine_chunks().dictionary_encode()
    starts = np.zeros(len(names), np.int64)
    if times is not None:
        starts = pc.fill_null(
            pc.floor_temporal(times, unit="hour").cast("timestamp[s]").cast("int64"), 0
        ).to_numpy()
    keys = np.column_stack([starts, names.indices.to_numpy()])
    for start, code in np.unique(keys, axis=0).tolist():
        hour = datetime.fromtimestamp(start, UTC).isoformat() if start else None
        yield (hour, names.dictionary[code].as_py()), np.flatnonzero((keys == (start, code)).all(axis=1))


def _count_counterfactual(evidence: CheckEvidence, copies: CopyOutcomes) -> PeriodTables:
    return PeriodTables(
        DataSet.COUNTERFACTUAL,
        Comparison((copies.grouping.column.name,)),
        [
            count_copies(copies, evidence.outcomes, evidence.window, selected)
            for selected in evidence.window.parts()
        ],
        revisions=tabulate_revisions(evidence, copies),
    )


def count_copies(
    copies: CopyOutcomes, outcomes: IntArray, window: Window, selected: RowSelection = slice(None)
) -> CounterfactualCells:
    return CounterfactualCells.from_records(
        build_groups(copies.grouping.named_groups),
        copies.codes[selected],
        outcome=outcomes[selected],
        copies_favourable=copies.favourable[selected],
        copies_classified=copies.classified[selected],
        weights=window.weights(selected),
    )


def tabulate_revisions(evidence: CheckEvidence, copies: CopyOutcomes) -> tuple[OtherRevisions, ...]:
    return tuple(
        OtherRevisions.of_records(
            evidence.table.grouping(copies.grouping.column.name),
            evidence.window.rows["model_revision"],
            evidence.model_revision,
            selected,
            count_repeats(evidence.repeats, copies, evidence.outcomes, selected),
        )
        for selected in evidence.window.parts()
    )


def _count_labels(
    labels: LabelledWindow, comparison: Comparison, record_revisions: pa.ChunkedArray
) -> PeriodTables:
    records = labels.table
    compared = labels.comparison
    groups, codes = records.compare(comparison)
    scores = records.scores.values if records.scores else None

    def count_selected(selected: RowSelection) -> LabelledCells:
        return LabelledCells.from_records(
            build_groups(groups),
            codes[selected],
            actual=compared.actual[selected],
            predicted=compared.predicted[selected],
            correct=compared.correct[selected],
            weights=labels.window.weights(selected),
            strata=_select_strata(records.strata, selected) if comparison.features else None,
            scores=None if scores is None else scores[selected],
        )

    periods = [count_selected(selected) for selected in labels.window.parts()]
    periods[0] = replace(periods[0], cohort=labels.count_cohort(comparison))
    times = labels.window.rows["record_logged_at"].slice(0, labels.window.own)
    return PeriodTables(
        DataSet.LABELLED,
        comparison,
        periods,
        strata=records.strata.column if records.strata else None,
        lacking=_find_lacking(records),
        pieces={piece: count_selected(rows) for piece, rows in _divide_by_revision(record_revisions, times)},
    )


def _select_strata(strata: ColumnStrata | None, selected: RowSelection) -> RecordStrata | None:
    return None if strata is None or strata.reason else RecordStrata(strata.labels, strata.codes[selected])


def _find_lacking(records: RecordTable) -> dict[str, str]:
    lacking = {}
    if records.strata and records.strata.reason:
        lacking["strata"] = records.strata.reason
    if records.scores and records.scores.values is None:
        lacking["scores"] = records.scores.reason
    return lacking
