"""Records of other model revisions, which are in no group of counterfactual and mitigated data."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, get_args

import numpy as np
import pyarrow as pa

from ..base.frozen import frozen
from ..database.binary_rows import list_column_values
from ..domain.check import DataSet, Measurement
from ..sources.arrays.group_of_records import Grouping
from ..statistics import figure_values as metrics
from ..statistics.catalogue import CATALOGUE
from ..statistics.catalogue.metric import ComparedRate, OfPair, RateOf
from ..statistics.group_labels import Groups
from ..statistics.measures.figure_members import members, reference
from .copies.repeats import Repeats
from .window.window import BoolArray

NAMED = 3
"""Max revisions that a reason names."""

_OF_REFERENCE = RateOf("perfect_equality")


@frozen
class OtherRevisions:
    """Records that the `present` revision answered, and each other one, by group label; `repeats` are
    those asked again unchanged.
    """

    present: str
    comparable: Mapping[str, int]
    others: Mapping[str, Mapping[str, int]]
    repeats: Repeats

    @classmethod
    def of_records(
        cls, grouping: Grouping, made_by: pa.ChunkedArray, present: str, members: BoolArray, repeats: Repeats
    ) -> Self:
        """Counts a part [records] of a window's records; `made_by` are revisions, null where the present
        model was just called.
        """
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
        """Sum of several; the last one's revision is the present one."""
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

    def of(self, labels: Iterable[str]) -> tuple[int, Counter[str]]:
        """Comparable records of those groups together, and the others by revision."""
        several = list(labels)
        of_others: Counter[str] = Counter()
        for label in several:
            of_others.update(self.others.get(label, {}))
        return sum(self.comparable.get(label, 0) for label in several), of_others


def explain_nulls(
    measurements: Iterable[Measurement], groups: Groups, revisions: OtherRevisions | None
) -> Iterator[Measurement]:
    """Yields one table's measurements; a null caused by other revisions gets that reason."""
    for measurement in measurements:
        if revisions is None or not revisions.others or measurement.value is not None:
            yield measurement
        else:
            yield replace(measurement, reason=_find_reason(measurement, groups, revisions))


def _find_reason(null: Measurement, groups: Groups, revisions: OtherRevisions) -> str | None:
    noun = "labelled record" if null.data is DataSet.MITIGATED_LABELLED else "record"
    how = CATALOGUE[null.metric].measure
    null_members = [
        member
        for member in members(get_args(metrics.Scope), groups)
        if (member.scope, member.label) == (null.scope.value, null.group)
    ]
    # Everybody includes records of no group, which have no label to be counted under.
    about = [
        member._replace(columns=tuple(column for column in member.columns if column < len(groups)))
        for member in null_members
    ]
    if how == _OF_REFERENCE:
        about = [reference(groups)]
    elif isinstance(how, ComparedRate | OfPair):
        about.append(reference(groups))  # the side that it is compared with

    sides = [
        (member.of, *revisions.of(groups[column].label for column in member.columns)) for member in about
    ]
    for of_member, comparable, of_others in sides:
        total = of_others.total()
        if total and not comparable:
            count = (
                f"all {total:,} {noun}s{of_member} were" if total > 1 else f"the only {noun}{of_member} was"
            )
            return (
                f"{count} answered by {_list_revisions(of_others)}, and the deployment is at model revision "
                f"{revisions.present!r}:"
                " the next records of that revision will be compared"
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
        for revision in sorted(revisions, key=lambda revision: (-revisions[revision], revision))[:NAMED]
    ]
    names += ["…"] if len(revisions) > NAMED else []
    return (
        f"model revision {names[0]}"
        if len(names) == 1
        else f"model revisions {', '.join(names[:-1])} and {names[-1]}"
    )
