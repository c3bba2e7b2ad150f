"""Reduces a window to small count tables. Source: spec of the fairness check, section 5.

Each is made twice: of the span's records, and of additional ones from before it. A check's metrics read both;
roll-ups read only the span's, so that no record counts twice. Records of other model revisions are in no
group of counterfactual and mitigated data.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any, Self, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...base.values import frozen
from ...database.binary_rows import list_column_values
from ...domain.check import DataSet, Measurement
from ...domain.monitor import Comparison, Monitor, list_comparisons
from ...sources.arrays.read_records import ColumnStrata, Grouping, RecordTable
from ...statistics.catalogue import CATALOGUE
from ...statistics.catalogue.metric import ComparedRate, OfPair, RateOf
from ...statistics.group_labels import FloatArray, Groups, IntArray, as_groups
from ...statistics.intervals import verdicts as metrics
from ...statistics.measures.measure_rates import members, reference
from ...statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from ...statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from ...statistics.tables.strata_counts import RecordStrata
from ..copies.copy_outcomes import CopyOutcomes, Repeats, count_repeats
from ..result_queries import StoredTable
from ..window.window import BoolArray, RowSelection, Window
from ..window.window_records import CheckEvidence, LabelledWindow
from .sub_ranges import add_inside, count_inside

MAX_NAMED_REVISIONS = 3

_REFERENCE_RATE = RateOf("perfect_equality")
"""Measure of the reference group alone."""


@frozen
class OtherRevisions:
    """Records by group label: `comparable` ones of the `present` model revision, `others` of each other one,
    which counterfactual figures leave out; `repeats` were asked again unchanged.
    """

    present: str
    comparable: Mapping[str, int]
    others: Mapping[str, Mapping[str, int]]
    repeats: Repeats

    @classmethod
    def of_records(
        cls, grouping: Grouping, made_by: pa.ChunkedArray, present: str, members: BoolArray, repeats: Repeats
    ) -> Self:
        revisions = np.array(
            [present if revision is None else revision for revision in made_by.to_pylist()], dtype=object
        )
        counted = {
            group.label: Counter(revisions[(grouping.codes == code) & members].tolist())
            for code, group in enumerate(grouping.groups)
        }
        comparable = {label: counter.pop(present, 0) for label, counter in counted.items()}
        return cls(
            present,
            comparable,
            {label: dict(counter) for label, counter in counted.items() if counter},
            repeats,
        )

    @classmethod
    def merged(cls, several: Sequence["OtherRevisions"]) -> "OtherRevisions | None":
        if not several:
            return None
        comparable: Counter[str] = Counter()
        of_others: dict[str, Counter[str]] = {}
        repeats: dict[str, list[float]] = {}
        for revisions in several:
            comparable.update(revisions.comparable)
            for label, counted in revisions.others.items():
                of_others.setdefault(label, Counter()).update(counted)
            for label, counts in revisions.repeats.items():
                repeats[label] = np.add(repeats.get(label, 0), counts).tolist()
        return cls(several[-1].present, comparable, of_others, repeats)

    def to_json(self) -> dict[str, Any]:
        return list_column_values(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(stored["present"], stored["comparable"], stored["others"], stored.get("repeats", {}))

    def count(self, labels: Iterable[str]) -> tuple[int, Counter[str]]:
        """Counts the groups' comparable records, and those of each other revision."""
        several = list(labels)
        of_others: Counter[str] = Counter()
        for label in several:
            of_others.update(self.others.get(label, {}))
        return sum(self.comparable.get(label, 0) for label in several), of_others


def explain_nulls(
    measurements: Iterable[Measurement], groups: Groups, revisions: OtherRevisions | None
) -> Iterator[Measurement]:
    """Adds to the reason of a null that records of other model revisions are left out of its groups."""
    for measurement in measurements:
        if revisions is None or not revisions.others or measurement.value is not None:
            yield measurement
        else:
            yield replace(measurement, reason=_find_reason(measurement, groups, revisions))


def _find_reason(null: Measurement, groups: Groups, revisions: OtherRevisions) -> str | None:
    noun = "labelled record" if null.data is DataSet.MITIGATED_LABELLED else "record"
    measure = CATALOGUE[null.metric].measure
    null_members = [
        member
        for member in members(get_args(metrics.Scope), groups)
        if (member.scope, member.label) == (null.scope.value, null.group)
    ]
    # Everybody includes records of no group, which have no label to be counted under.
    compared = [
        member._replace(columns=tuple(column for column in member.columns if column < len(groups)))
        for member in null_members
    ]
    if measure == _REFERENCE_RATE:
        compared = [reference(groups)]
    elif isinstance(measure, ComparedRate | OfPair):
        compared.append(reference(groups))  # the side that it is compared with

    sides = [
        (member.of, *revisions.count(groups[column].label for column in member.columns))
        for member in compared
    ]
    for of_member, comparable, of_others in sides:
        total = of_others.total()
        if total and not comparable:
            count = (
                f"all {total:,} {noun}s{of_member} were" if total > 1 else f"the only {noun}{of_member} was"
            )
            return (
                f"{count} answered by {_list_revisions(of_others)}, and the deployment is at model revision "
                f"{revisions.present!r}: the next records of that revision will be compared"
            )
    for of_member, _, of_others in sides:
        total = of_others.total()
        if total:
            count = (
                f"{total:,} further {noun}s{of_member} were"
                if total > 1
                else f"one further {noun}{of_member} was"
            )
            return (
                f"{null.reason}; {count} answered by {_list_revisions(of_others)}, not by the present "
                f"one, {revisions.present!r}"
            )
    return null.reason


def _list_revisions(revisions: Counter[str]) -> str:
    names = [
        repr(revision)
        for revision in sorted(revisions, key=lambda revision: (-revisions[revision], revision))[
            :MAX_NAMED_REVISIONS
        ]
    ]
    names += ["…"] if len(revisions) > MAX_NAMED_REVISIONS else []
    return (
        f"model revision {names[0]}"
        if len(names) == 1
        else f"model revisions {', '.join(names[:-1])} and {names[-1]}"
    )


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

OWN = "span"
ADDITIONAL = "additional"

EVERYBODY = Comparison(())

STRATA_OF = "strata_of"

MITIGATED = "mitigated"

OTHER_REVISIONS = "other_revisions"

PIECES = "pieces"
"""Member of a stored table: the span's records by model revision where there are several, labels also by the
hour of their record. The check's own hour is that of their arrival.
"""

Piece = tuple[str | None, str]
"""Hour in ISO 8601 (None: any, or a label without a record), and model revision."""


@frozen
class PeriodTables:
    """Count tables of one comparison, one for each of `periods`: the span, and the additional records before
    it.

    `strata` is the dividing column, `lacking` says why strata or scores are missing, `mitigated` how outcomes
    were mitigated. For each period, `inside` counts outcomes by intervals of ranges, and `revisions` the
    records in the table and those of other revisions, left out. `pieces` are of the span alone.
    """

    data: DataSet
    comparison: Comparison
    periods: Sequence[Table]
    strata: str | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    mitigated: str | None = None
    inside: Sequence[Mapping[str, Any]] = ({}, {})
    revisions: tuple[OtherRevisions, ...] = ()
    pieces: Mapping[Piece, Table] = field(default_factory=dict)

    @property
    def other_revisions(self) -> OtherRevisions | None:
        """Left out of both periods; None where every revision is in."""
        return OtherRevisions.merged(self.revisions)

    @property
    def whole(self) -> Table:
        return merged(self.data, self.periods)

    def plus(self, added: "PeriodTables") -> "PeriodTables":
        inside = [
            add_inside(list(filter(None, pair))) for pair in zip(self.inside, added.inside, strict=True)
        ]
        return replace(
            self,
            periods=[merged(self.data, pair) for pair in zip(self.periods, added.periods, strict=True)],
            inside=inside,
            lacking={**self.lacking, **added.lacking},
            pieces={
                piece: merged(
                    self.data, [table.pieces[piece] for table in (self, added) if piece in table.pieces]
                )
                for piece in {**self.pieces, **added.pieces}
            },
        )

    def list_stored(self) -> list[StoredTable]:
        settings = {
            name: value
            for name, value in ((STRATA_OF, self.strata), (MITIGATED, self.mitigated))
            if value is not None
        }
        members: list[dict[str, Any]] = [
            {OTHER_REVISIONS: revisions.to_json()} for revisions in self.revisions
        ] or [{}, {}]
        if len(self.pieces) > 1 or self.data is DataSet.LABELLED:
            members[0][PIECES] = self.list_pieces()
        periods = zip((OWN, ADDITIONAL), self.periods, self.inside, members, strict=True)
        return [
            StoredTable(
                self.data, self.comparison, name, counts.to_json() | settings | dict(inside) | further
            )
            for name, counts, inside, further in periods
        ]

    def list_pieces(self) -> list[dict[str, Any]]:
        return [
            {"hour": hour, "revision": revision, "cells": table.to_json()}
            for (hour, revision), table in sorted(self.pieces.items(), key=str)
        ]


def find_table_data(data: DataSet) -> DataSet:
    """Data set under which the count table of a data set is stored."""
    return DataSet.COUNTERFACTUAL if data is DataSet.OPENSCALE else data


def list_measured_data(stored: DataSet) -> tuple[DataSet, ...]:
    return tuple(data for data in DataSet if find_table_data(data) is stored)


def merged(data: DataSet, tables: Sequence[Any]) -> Table:
    return TABLE_TYPES[data].merged(tables)


def merge_revisions(several: Iterable[Mapping[str, Any]]) -> OtherRevisions | None:
    """Adds up the records left out because of their revision; None where a table has no count."""
    counted = [cells.get(OTHER_REVISIONS) for cells in several]
    return (
        None
        if None in counted
        else OtherRevisions.merged([OtherRevisions.from_json(cell) for cell in counted if cell is not None])
    )


def tabulate(
    evidence: CheckEvidence,
    labels: LabelledWindow | None,
    monitor: Monitor,
    payload: Sequence[PeriodTables] | None = None,
) -> list[PeriodTables]:
    """Counts all tables of a check; `payload` are those already counted in files."""
    comparisons = list_comparisons(monitor)
    if payload is None:
        window = evidence.window
        made_by = _find_revisions(window, evidence)
        payload = [
            count_payload(
                evidence.read,
                comparison,
                window.parts(),
                weights=window.weights(),
                made_by=made_by if len(pc.unique(made_by)) > 1 else None,
            )
            for comparison in comparisons
        ]
    tables = list(payload)
    tables += [_count_counterfactual(evidence, copies) for copies in evidence.copies]
    if labels:
        tables += [
            _count_feedback(labels, comparison, _find_revisions(labels.window, evidence))
            for comparison in [EVERYBODY, *comparisons]
        ]
    return tables


def count_payload(
    read: RecordTable,
    comparison: Comparison,
    parts: Sequence[RowSelection],
    *,
    weights: FloatArray | None = None,
    repeats: IntArray | None = None,
    made_by: pa.ChunkedArray | None = None,
) -> PeriodTables:
    """Counts by group; ranges of one attribute also by intervals inside them.

    With `repeats`, each entry of `read` represents that many equal records without weights. `made_by` are the
    model revisions of the span's records, which come first.
    """
    named, codes = read.compare(comparison)
    scores = read.scores.values if read.scores else None

    def count(selected: RowSelection) -> GroupCounts:
        return GroupCounts.from_records(
            as_groups(named),
            codes[selected],
            outcome=read.outcomes[selected],
            weights=None if weights is None else weights[selected],
            strata=_select_strata(read.strata, selected),
            repeats=None if repeats is None else repeats[selected],
            scores=None if scores is None else scores[selected],
        )

    periods = [count(selected) for selected in parts]
    pieces = {} if made_by is None else {piece: count(rows) for piece, rows in _divide_by_revision(made_by)}
    inside: Sequence[Mapping[str, Any]] = ({}, {})
    attributes = comparison.members(read.monitor)
    if len(attributes) == 1 and attributes[0].rule is None:
        feature = attributes[0].feature
        grouping = read.grouping(feature)
        values = read.values(feature)
        inside = [count_inside(grouping, values, read.outcomes, selected, repeats) for selected in parts]
    return PeriodTables(
        DataSet.AS_LOGGED, comparison, periods, *_find_lacking(read), inside=inside, pieces=pieces
    )


def _find_revisions(window: Window, evidence: CheckEvidence) -> pa.ChunkedArray:
    """Model revision of each record of the span; the present one where it was just called."""
    return pc.fill_null(window.rows["model_revision"].slice(0, window.own), evidence.model_revision)


def _divide_by_revision(
    made_by: pa.ChunkedArray, hours: pa.ChunkedArray | None = None
) -> Iterator[tuple[Piece, IntArray]]:
    names = made_by.combine_chunks().dictionary_encode()
    starts = np.zeros(len(names), np.int64)
    if hours is not None:
        starts = pc.fill_null(
            pc.floor_temporal(hours, unit="hour").cast("timestamp[s]").cast("int64"), 0
        ).to_numpy()
    keys = np.column_stack([starts, names.indices.to_numpy()])
    for start, code in np.unique(keys, axis=0).tolist():
        hour = datetime.fromtimestamp(start, UTC).isoformat() if start else None
        yield (hour, names.dictionary[code].as_py()), np.flatnonzero((keys == (start, code)).all(axis=1))


def _count_counterfactual(evidence: CheckEvidence, copies: CopyOutcomes) -> PeriodTables:
    periods = [
        count_copies(copies, evidence.outcomes, evidence.window, selected)
        for selected in evidence.window.parts()
    ]
    comparison = Comparison((copies.grouping.column.name,))
    return PeriodTables(
        DataSet.COUNTERFACTUAL, comparison, periods, revisions=tabulate_revisions(evidence, copies)
    )


def count_copies(
    copies: CopyOutcomes, outcomes: IntArray, window: Window, selected: RowSelection = slice(None)
) -> CounterfactualCells:
    return CounterfactualCells.from_records(
        as_groups(copies.grouping.named_groups),
        copies.codes[selected],
        outcome=outcomes[selected],
        copies_favourable=copies.favourable[selected],
        copies_classified=copies.classified[selected],
        weights=window.weights(selected),
    )


def tabulate_revisions(evidence: CheckEvidence, copies: CopyOutcomes) -> tuple[OtherRevisions, ...]:
    grouping = evidence.read.grouping(copies.grouping.column.name)
    made_by = evidence.window.rows["model_revision"]
    return tuple(
        OtherRevisions.of_records(
            grouping,
            made_by,
            evidence.model_revision,
            selected,
            count_repeats(evidence.repeats, copies, evidence.outcomes, selected),
        )
        for selected in evidence.window.parts()
    )


def _count_feedback(labels: LabelledWindow, comparison: Comparison, made_by: pa.ChunkedArray) -> PeriodTables:
    read = labels.read
    compared = labels.comparison
    named, codes = read.compare(comparison)
    scores = read.scores.values if read.scores else None

    def count(selected: RowSelection) -> LabelledCells:
        return LabelledCells.from_records(
            as_groups(named),
            codes[selected],
            actual=compared.actual[selected],
            predicted=compared.predicted[selected],
            correct=compared.correct[selected],
            weights=labels.window.weights(selected),
            strata=_select_strata(read.strata, selected) if comparison.features else None,
            scores=None if scores is None else scores[selected],
        )

    periods = [count(selected) for selected in labels.window.parts()]
    periods[0] = replace(periods[0], cohort=labels.count_cohort(comparison))
    hours = labels.window.rows["record_logged_at"].slice(0, labels.window.own)
    pieces = {piece: count(rows) for piece, rows in _divide_by_revision(made_by, hours)}
    return PeriodTables(DataSet.LABELLED, comparison, periods, *_find_lacking(read), pieces=pieces)


def _select_strata(strata: ColumnStrata | None, selected: RowSelection) -> RecordStrata | None:
    return None if strata is None or strata.reason else RecordStrata(strata.labels, strata.codes[selected])


def _find_lacking(read: RecordTable) -> tuple[str | None, dict[str, str]]:
    lacking = {}
    if read.strata and read.strata.reason:
        lacking["strata"] = read.strata.reason
    if read.scores and read.scores.values is None:
        lacking["scores"] = read.scores.reason
    return read.strata.column if read.strata else None, lacking
