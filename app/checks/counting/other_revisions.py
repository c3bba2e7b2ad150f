"""Records of other model revisions, which figures of copies leave out, and reasons of nulls that say so."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self, get_args

import numpy as np
import pyarrow as pa

from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...database.binary_rows import list_column_values
from ...domain.check import DataSet, Measurement
from ...sources.arrays.read_records import Grouping
from ...statistics.catalogue import CATALOGUE
from ...statistics.catalogue.metric import PairFigure, RateComparison, RateFigure
from ...statistics.group_labels import Groups
from ...statistics.intervals.verdicts import FigureScope
from ...statistics.measures.measure_rates import list_members, pool_reference
from ..copies.repeats import Repeats
from ..window.window import BoolArray

MAX_NAMED_REVISIONS = 3
"""Revisions that a reason names, the most frequent."""

OTHER_REVISIONS = "other_revisions"
"""Member of a stored table."""

_REFERENCE_RATE = RateFigure("perfect_equality")


@frozen
class OtherRevisions:
    """Numbers of records by group: `comparable` ones of the `present` revision, `others` by revision."""

    present: str
    comparable: Mapping[str, int]
    others: Mapping[str, Mapping[str, int]]
    repeats: Repeats

    @classmethod
    def of_records(
        cls,
        grouping: Grouping,
        record_revisions: pa.ChunkedArray,
        present: str,
        members: BoolArray,
        repeats: Repeats,
    ) -> Self:
        """Counts the `members` (mask [records]); a record without a revision is of the present one."""
        revisions = np.array(
            [present if revision is None else revision for revision in record_revisions.to_pylist()],
            dtype=object,
        )
        counters = {
            group.label: Counter(revisions[(grouping.codes == code) & members].tolist())
            for code, group in enumerate(grouping.groups)
        }
        comparable = {label: counter.pop(present, 0) for label, counter in counters.items()}
        others = {label: dict(counter) for label, counter in counters.items() if counter}
        return cls(present, comparable, others, repeats)

    @classmethod
    def merge(cls, tables: Sequence["OtherRevisions"]) -> "OtherRevisions | None":
        """Adds up the counts; None without tables."""
        if not tables:
            return None
        comparable: Counter[str] = Counter()
        others: dict[str, Counter[str]] = {}
        repeats: dict[str, list[float]] = {}
        for table in tables:
            comparable.update(table.comparable)
            for label, records_by_revision in table.others.items():
                others.setdefault(label, Counter()).update(records_by_revision)
            for label, counts in table.repeats.items():
                repeats[label] = np.add(repeats.get(label, 0), counts).tolist()
        return cls(tables[-1].present, comparable, others, repeats)

    def to_json(self) -> JsonObject:
        return list_column_values(self)

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        return cls(stored["present"], stored["comparable"], stored["others"], stored.get("repeats", {}))

    def count_records(self, labels: Sequence[str]) -> tuple[int, Counter[str]]:
        """Counts the comparable records of the groups, and the others by revision."""
        others: Counter[str] = Counter()
        for label in labels:
            others.update(self.others.get(label, {}))
        return sum(self.comparable.get(label, 0) for label in labels), others


def merge_revisions(tables: Iterable[JsonObject]) -> OtherRevisions | None:
    """Adds up the counts of stored tables; None if a table has none, or without tables."""
    counts = []
    for cells in tables:
        if OTHER_REVISIONS not in cells:
            return None
        counts.append(OtherRevisions.from_json(cells[OTHER_REVISIONS]))
    return OtherRevisions.merge(counts)


def explain_nulls(
    measurements: Iterable[Measurement], groups: Groups, revisions: OtherRevisions | None
) -> Iterator[Measurement]:
    """Adds to the reason of a null that records of other model revisions are left out of its groups."""
    for measurement in measurements:
        if revisions is None or not revisions.others or measurement.value is not None:
            yield measurement
        else:
            yield replace(measurement, reason=_explain_null(measurement, groups, revisions))


def _explain_null(null: Measurement, groups: Groups, revisions: OtherRevisions) -> str | None:
    noun = "labelled record" if null.data is DataSet.MITIGATED_LABELLED else "record"
    measure = CATALOGUE[null.metric].measure
    # Everybody includes records of no group, which have no label to be counted under.
    compared = [
        member._replace(columns=tuple(column for column in member.columns if column < len(groups)))
        for member in list_members(get_args(FigureScope), groups)
        if (member.scope, member.label) == (null.scope.value, null.group)
    ]
    if measure == _REFERENCE_RATE:
        compared = [pool_reference(groups)]
    elif isinstance(measure, RateComparison | PairFigure):
        compared.append(pool_reference(groups))  # the side that it is compared with

    counted_sides = [
        (member.of, *revisions.count_records([groups[column].label for column in member.columns]))
        for member in compared
    ]
    for of_member, comparable, others in counted_sides:
        total = others.total()
        if total and not comparable:
            records = (
                f"all {total:,} {noun}s{of_member} were" if total > 1 else f"the only {noun}{of_member} was"
            )
            return (
                f"{records} answered by {_name_revisions(others)}, and the deployment is at model revision "
                f"{revisions.present!r}: the next records of that revision will be compared"
            )
    for of_member, _, others in counted_sides:
        total = others.total()
        if total:
            records = (
                f"{total:,} further {noun}s{of_member} were"
                if total > 1
                else f"one further {noun}{of_member} was"
            )
            return (
                f"{null.reason}; {records} answered by {_name_revisions(others)}, not by the present "
                f"one, {revisions.present!r}"
            )
    return null.reason


def _name_revisions(revisions: Counter[str]) -> str:
    most_frequent = sorted(revisions, key=lambda revision: (-revisions[revision], revision))
    names = [repr(revision) for revision in most_frequent[:MAX_NAMED_REVISIONS]]
    if len(revisions) > MAX_NAMED_REVISIONS:
        names.append("…")
    if len(names) == 1:
        return f"model revision {names[0]}"
    return f"model revisions {', '.join(names[:-1])} and {names[-1]}"
