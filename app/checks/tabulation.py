"""Reduces a window to the small count tables that everything else reads. Source: spec of the fairness check, section 5.

Each table is made twice: of the records of the span itself, and of the additional ones from before it. Metrics of the
check read both together; roll-ups read the first alone, so that no record is counted twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from app.checks.evidence import Evidence
from app.checks.grouping import NEITHER, Grouping, intersect
from app.checks.labelled import Labelled
from app.checks.outcomes_of_copies import CopyOutcomes
from app.checks.revisions import OtherRevisions
from app.checks.strata import Divided, divide
from app.checks.sub_ranges import count_inside
from app.checks.window import Window
from app.domain.checks import DataSet
from app.domain.monitors import Monitor
from app.domain.texts import TOGETHER
from app.metrics.groups import FloatArray, IntArray
from app.metrics.tables import BalancedCells, DebiasedCells, DebiasedFeedback, FeedbackCells, GroupCounts

Table: TypeAlias = GroupCounts | BalancedCells | FeedbackCells | DebiasedCells | DebiasedFeedback
TABLE_TYPES: dict[DataSet, type[GroupCounts] | type[BalancedCells] | type[FeedbackCells] | type[DebiasedCells] | type[DebiasedFeedback]] = {
    DataSet.PAYLOAD: GroupCounts,
    DataSet.BALANCED: BalancedCells,
    DataSet.FEEDBACK: FeedbackCells,
    DataSet.TRAINING: GroupCounts,
    DataSet.DEBIASED: DebiasedCells,
    DataSet.DEBIASED_FEEDBACK: DebiasedFeedback,
}

COUNTED_AS: dict[DataSet, DataSet] = {DataSet.PAYLOAD_PERTURBED: DataSet.BALANCED}
"""Data sets that are measured on another one's tables, and this one."""

OWN, ADDITIONAL = "span", "additional"
EVERYBODY = ""
"""The attribute of the table that has no groups: accuracy overall."""
STRATA_OF = "strata_of"
"""The member of a stored table that names the column whose values its strata are."""
MITIGATED = "mitigated"
"""The member of a stored table that says in which way its outcomes were mitigated."""
OTHER_REVISIONS = "other_revisions"
"""The member of a stored table that counts whose records it holds, and which it leaves out because other revisions answered them."""

Sets: TypeAlias = list[tuple[Grouping, ...]]


@dataclass(frozen=True, slots=True)
class Tabulated:
    """One table in its two parts. `attribute` is a feature, several joined by ` × `, or EVERYBODY.

    `strata` is the column by which it is divided. `lacking` says why the table has no strata or scores, where they are needed.
    `mitigated` is the way in which outcomes were. `inside` is what is stored beside the two parts: outcomes by intervals of ranges.
    `revisions` counts, part by part, whose records the table holds and whose it leaves out, where only the present model's can be used.
    """

    data: DataSet
    attribute: str
    own: Table
    additional: Table
    strata: str | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    mitigated: str | None = None
    inside: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    revisions: tuple[OtherRevisions, ...] = ()

    @property
    def other_revisions(self) -> OtherRevisions | None:
        """The records left out of both parts; None where records of every revision are in."""
        return OtherRevisions.merged(self.revisions)

    @property
    def whole(self) -> Table:
        """Both parts together."""
        return merged(self.data, [self.own, self.additional])

    def parts(self) -> list[tuple[str, dict[str, Any]]]:
        """The parts by name, in the form in which they are stored."""
        known = {name: said for name, said in ((STRATA_OF, self.strata), (MITIGATED, self.mitigated)) if said is not None}
        counted = [{OTHER_REVISIONS: one.to_json()} for one in self.revisions] or [{}, {}]
        parts = zip((OWN, ADDITIONAL), (self.own, self.additional), self.inside, counted, strict=True)
        return [(name, part.to_json() | known | dict(inside) | revisions) for name, part, inside, revisions in parts]


def table_data(data: DataSet) -> DataSet:
    """Returns the data set whose tables figures of `data` are measured on."""
    return COUNTED_AS.get(data, data)


def data_measured_on(tables: DataSet) -> tuple[DataSet, ...]:
    """Returns the data sets that are measured on tables of that one."""
    return tuple(data for data in DataSet if table_data(data) is tables)


def merged(data: DataSet, tables: Sequence[Any]) -> Table:
    """The sum of tables of one kind, groups aligned by label."""
    return TABLE_TYPES[data].merged(tables)


def stored_revisions(several: Iterable[Mapping[str, Any]]) -> OtherRevisions | None:
    """What tables, as they are stored, leave out because another model revision answered it; None where one of them does not say."""
    counted = [cells.get(OTHER_REVISIONS) for cells in several]
    return None if None in counted else OtherRevisions.merged([OtherRevisions.from_json(one) for one in counted if one is not None])


def sets_of(groupings: Sequence[Grouping], monitor: Monitor) -> Sets:
    """Each attribute by itself, and those that are watched together."""
    of_feature = {grouping.column.name: grouping for grouping in groupings}
    together = [tuple(of_feature[name] for name in names) for names in monitor.intersections]
    return [*((grouping,) for grouping in groupings), *together]


def name_of(groupings: Sequence[Grouping]) -> str:
    """The attribute that the groupings together make up."""
    return TOGETHER.join(grouping.column.name for grouping in groupings) or EVERYBODY


def codes_of(groupings: Sequence[Grouping], records: int) -> tuple[list[Any], IntArray]:
    """The groups (label, role) that the groupings together make up, and per record its group or NEITHER."""
    return intersect(groupings) if groupings else ([], np.full(records, NEITHER, dtype=np.int64))


def tabulate(evidence: Evidence, labels: Labelled | None, monitor: Monitor) -> list[Tabulated]:
    """Every table of a check."""
    strata = _strata(evidence.window, monitor)
    tables = [_payload(evidence, groupings, strata) for groupings in sets_of(evidence.groupings, monitor)]
    tables += [_balanced(evidence, copies) for copies in evidence.copies]
    if labels is not None:
        strata = _strata(labels.window, monitor)
        tables += [_feedback(labels, groupings, strata) for groupings in [(), *sets_of(labels.groupings, monitor)]]
    return tables


def _strata(window: Window, monitor: Monitor) -> Divided | None:
    return None if monitor.strata is None else divide(monitor.strata, window.values(monitor.strata))


def _payload(evidence: Evidence, groupings: Sequence[Grouping], strata: Divided | None) -> Tabulated:
    """Outcomes by group: of one attribute, or of several together."""
    named, codes = intersect(groupings)
    own, additional = (
        GroupCounts.from_records(named, codes[part], evidence.outcomes[part], strata=_of(strata, part)) for part in _parts(evidence.window)
    )
    return Tabulated(DataSet.PAYLOAD, name_of(groupings), own, additional, *_said(strata), inside=_inside(evidence, groupings))


def _inside(evidence: Evidence, groupings: Sequence[Grouping]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Outcomes by intervals inside the ranges of one attribute; of several together nothing."""
    if len(groupings) != 1:
        return {}, {}
    (grouping,), window = groupings, evidence.window
    own, additional = (count_inside(grouping, window.values(grouping.column.name), evidence.outcomes, part) for part in _parts(window))
    return own, additional


def _balanced(evidence: Evidence, copies: CopyOutcomes) -> Tabulated:
    """Outcomes of records together with those of their copies."""
    grouping, window = copies.grouping, evidence.window
    own, additional = (
        BalancedCells.from_records(
            grouping.named,
            grouping.codes[part],
            evidence.outcomes[part],
            copies_favourable=copies.favourable[part],
            copies_classified=copies.classified[part],
        )
        for part in _parts(window)
    )
    return Tabulated(DataSet.BALANCED, grouping.column.name, own, additional, revisions=revisions_of(evidence, grouping.column.name))


def revisions_of(evidence: Evidence, attribute: str) -> tuple[OtherRevisions, ...]:
    """Who answered the window's records of each group of the attribute: those of the span, and the additional ones."""
    grouping = next(one for one in evidence.groupings if one.column.name == attribute)
    made_by = evidence.window.rows["model_revision"]
    return tuple(OtherRevisions.of_records(grouping, made_by, evidence.model_revision, part) for part in _parts(evidence.window))


def _feedback(labels: Labelled, groupings: Sequence[Grouping], strata: Divided | None) -> Tabulated:
    """Labels against predictions by group; without groupings, of everybody."""
    named, codes = codes_of(groupings, len(labels.window))
    comparison, scores = labels.comparison, None if labels.scores is None else labels.scores.values
    own, additional = (
        FeedbackCells.from_records(
            named,
            codes[part],
            actual=comparison.actual[part],
            predicted=comparison.predicted[part],
            correct=comparison.correct[part],
            strata=_of(strata, part) if groupings else None,
            scores=_part_of(scores, part),
        )
        for part in _parts(labels.window)
    )
    column, lacking = _said(strata)
    if labels.scores is not None and labels.scores.values is None:
        lacking |= {"scores": labels.scores.reason}
    return Tabulated(DataSet.FEEDBACK, name_of(groupings), own, additional, column, lacking)


def _of(strata: Divided | None, part: npt.NDArray[np.bool_]) -> tuple[Sequence[str], IntArray] | None:
    return None if strata is None or strata.reason else (strata.labels, strata.codes[part])


def _part_of(scores: FloatArray | None, part: npt.NDArray[np.bool_]) -> FloatArray | None:
    return None if scores is None else scores[part]


def _said(strata: Divided | None) -> tuple[str | None, dict[str, str]]:
    """The column of the strata, and why there are none."""
    if strata is None:
        return None, {}
    return strata.column, {"strata": strata.reason} if strata.reason else {}


def _parts(window: Window) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    own = window.is_own()
    return own, ~own
