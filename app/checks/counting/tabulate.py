"""Reduces a window to small count tables. Source: spec of the fairness check, section 5.

Each is made twice: of the span's records, and of additional ones from before it. A check's metrics read
both; roll-ups read only the span's, so that no record counts twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from ...base.frozen import frozen
from ...domain.check import DataSet
from ...domain.monitor import Comparison, Monitor, list_comparisons
from ...sources.arrays.read_records import Divided, RecordTable
from ...statistics.group_labels import FloatArray, IntArray, as_groups
from ...statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from ...statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from ...statistics.tables.strata_counts import RecordStrata
from ..copies.copy_outcomes import CopyOutcomes
from ..copies.repeats import count_repeats
from ..other_revisions import OtherRevisions
from ..window.window import BoolArray, Window
from ..window.window_records import CheckEvidence, Labelled
from .sub_ranges import Part, add_inside, count_inside

Table: TypeAlias = GroupCounts | CounterfactualCells | LabelledCells | MitigatedCells | MitigatedLabelledCells
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

OWN, ADDITIONAL = "span", "additional"
"""Names of a table's two parts."""

EVERYBODY = Comparison(())
"""Comparison of the table without groups."""

STRATA_OF = "strata_of"
"""Member of a stored table: the column of its strata."""

MITIGATED = "mitigated"
"""Member of a stored table: how its outcomes were mitigated."""

OTHER_REVISIONS = "other_revisions"
"""Member of a stored table that counts its records by group, and those that other revisions answered."""


@frozen
class Tabulated:
    """One table in its two parts.

    `strata` is the dividing column, `lacking` why strata or scores are missing, `mitigated` how outcomes
    were mitigated. `inside` counts outcomes by intervals of ranges, `revisions` records in the table and
    those of other revisions, left out, for each part.
    """

    data: DataSet
    comparison: Comparison
    own: Table
    additional: Table
    strata: str | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    mitigated: str | None = None
    inside: Sequence[Mapping[str, Any]] = ({}, {})
    revisions: tuple[OtherRevisions, ...] = ()

    @property
    def other_revisions(self) -> OtherRevisions | None:
        """Records left out of both parts; None where every revision is in."""
        return OtherRevisions.merged(self.revisions)

    @property
    def whole(self) -> Table:
        return merged(self.data, [self.own, self.additional])

    def plus(self, added: "Tabulated") -> "Tabulated":
        """Sum of payload tables of one comparison, counted from different records."""
        own_counts, additional = (
            merged(self.data, [self.own, added.own]),
            merged(self.data, [self.additional, added.additional]),
        )
        inside = [
            add_inside(list(filter(None, pair))) for pair in zip(self.inside, added.inside, strict=True)
        ]
        return replace(
            self,
            own=own_counts,
            additional=additional,
            inside=inside,
            lacking={**self.lacking, **added.lacking},
        )

    def parts(self) -> list[tuple[str, dict[str, Any]]]:
        settings = {
            name: value
            for name, value in ((STRATA_OF, self.strata), (MITIGATED, self.mitigated))
            if value is not None
        }
        counted = [{OTHER_REVISIONS: revisions.to_json()} for revisions in self.revisions] or [{}, {}]
        periods = zip((OWN, ADDITIONAL), (self.own, self.additional), self.inside, counted, strict=True)
        return [
            (name, counts.to_json() | settings | dict(inside) | revisions)
            for name, counts, inside, revisions in periods
        ]


def table_data(data: DataSet) -> DataSet:
    """Data set whose tables figures of `data` are measured on."""
    return DataSet.COUNTERFACTUAL if data is DataSet.OPENSCALE else data


def data_measured_on(tables: DataSet) -> tuple[DataSet, ...]:
    return tuple(data for data in DataSet if table_data(data) is tables)


def merged(data: DataSet, tables: Sequence[Any]) -> Table:
    return TABLE_TYPES[data].merged(tables)


def merge_revisions(several: Iterable[Mapping[str, Any]]) -> OtherRevisions | None:
    """Records left out of stored tables because of their revision; None where a table has no count."""
    counted = [cells.get(OTHER_REVISIONS) for cells in several]
    return (
        None
        if None in counted
        else OtherRevisions.merged([OtherRevisions.from_json(cell) for cell in counted if cell is not None])
    )


def tabulate(
    evidence: CheckEvidence,
    labels: Labelled | None,
    monitor: Monitor,
    payload: Sequence[Tabulated] | None = None,
) -> list[Tabulated]:
    """Every table of a check. `payload` are its payload tables, if counted from more records than the
    window holds.
    """
    comparisons = list_comparisons(monitor)
    if payload is None:
        weights = evidence.window.weights()
        payload = [
            count_payload(evidence.read, comparison, *_parts(evidence.window), weights=weights)
            for comparison in comparisons
        ]
    tables = list(payload)
    tables += [_count_counterfactual(evidence, copies) for copies in evidence.copies]
    if labels is not None:
        tables += [_count_feedback(labels, comparison) for comparison in [EVERYBODY, *comparisons]]
    return tables


def count_payload(
    read: RecordTable,
    comparison: Comparison,
    own_part: Part,
    additional_part: Part,
    *,
    weights: FloatArray | None = None,
    repeats: IntArray | None = None,
) -> Tabulated:
    """Counts outcomes by group; ranges of one attribute also by intervals inside them.

    With `repeats`, each entry of `read` represents that many equal records without weights.
    """
    selections = (own_part, additional_part)
    named, codes = read.compare(comparison)
    groups = as_groups(named)
    scores = None if read.scores is None else read.scores.values
    own_counts, additional = (
        GroupCounts.from_records(
            groups,
            codes[selected],
            read.outcomes[selected],
            weights=None if weights is None else weights[selected],
            strata=_select_strata(read.strata, selected),
            repeats=None if repeats is None else repeats[selected],
            scores=None if scores is None else scores[selected],
        )
        for selected in selections
    )
    inside: Sequence[Mapping[str, Any]] = ({}, {})
    attributes = comparison.members(read.monitor)
    if len(attributes) == 1 and attributes[0].rule is None:
        feature = attributes[0].feature
        grouping, values = read.grouping(feature), read.values(feature)
        inside = [count_inside(grouping, values, read.outcomes, selected, repeats) for selected in selections]
    column, lacking = _describe_lacking(read)
    return Tabulated(DataSet.AS_LOGGED, comparison, own_counts, additional, column, lacking, inside=inside)


def _count_counterfactual(evidence: CheckEvidence, copies: CopyOutcomes) -> Tabulated:
    grouping, window = copies.grouping, evidence.window
    weights = window.weights()
    own_counts, additional = (
        CounterfactualCells.from_records(
            as_groups(grouping.named),
            copies.codes[selected],
            outcome=evidence.outcomes[selected],
            copies_favourable=copies.favourable[selected],
            copies_classified=copies.classified[selected],
            weights=None if weights is None else weights[selected],
        )
        for selected in _parts(window)
    )
    comparison = Comparison((grouping.column.name,))
    return Tabulated(
        DataSet.COUNTERFACTUAL,
        comparison,
        own_counts,
        additional,
        revisions=tabulate_revisions(evidence, copies),
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
        for selected in _parts(evidence.window)
    )


def _count_feedback(labels: Labelled, comparison: Comparison) -> Tabulated:
    read, compared, weights = labels.read, labels.comparison, labels.window.weights()
    named, codes = read.compare(comparison)
    scores = None if read.scores is None else read.scores.values
    own_counts, additional = (
        LabelledCells.from_records(
            as_groups(named),
            codes[selected],
            actual=compared.actual[selected],
            predicted=compared.predicted[selected],
            correct=compared.correct[selected],
            weights=None if weights is None else weights[selected],
            strata=_select_strata(read.strata, selected) if comparison.features else None,
            scores=None if scores is None else scores[selected],
        )
        for selected in _parts(labels.window)
    )
    column, lacking = _describe_lacking(read)
    return Tabulated(
        DataSet.LABELLED,
        comparison,
        replace(own_counts, cohort=labels.count_cohort(comparison)),
        additional,
        column,
        lacking,
    )


def _select_strata(strata: Divided | None, selected: Part) -> RecordStrata | None:
    return None if strata is None or strata.reason else RecordStrata(strata.labels, strata.codes[selected])


def _describe_lacking(read: RecordTable) -> tuple[str | None, dict[str, str]]:
    lacking = {}
    if read.strata is not None and read.strata.reason:
        lacking["strata"] = read.strata.reason
    if read.scores is not None and read.scores.values is None:
        lacking["scores"] = read.scores.reason
    return None if read.strata is None else read.strata.column, lacking


def _parts(window: Window) -> tuple[BoolArray, BoolArray]:
    is_own = window.is_own()
    return is_own, ~is_own
