"""Records that another model revision answered are in no group of balanced and debiased data; what is null for want of them says so."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.grouping import Grouping
from app.domain.checks import DataSet, Measurement, Scope
from app.metrics import values as metrics
from app.metrics.catalogue import CATALOGUE
from app.metrics.catalogue.metric import Compared, OfPair, RateOf
from app.metrics.groups import Groups
from app.metrics.members import Member, members, reference

NAMED = 3
"""How many revisions a reason names before the rest become `…`."""

_OF_REFERENCE = RateOf("perfect_equality")
_LABELLED = frozenset({DataSet.DEBIASED_FEEDBACK})


@dataclass(frozen=True, slots=True)
class OtherRevisions:
    """How many records of each group the `present` model revision answered, and how many each other one, by the groups' labels."""

    present: str
    comparable: Mapping[str, int]
    others: Mapping[str, Mapping[str, int]]

    @classmethod
    def of_records(cls, grouping: Grouping, made_by: pa.ChunkedArray, present: str, part: npt.NDArray[np.bool_]) -> Self:
        """Counts a part [records] of a window's records; `made_by` are their revisions, null where the present model was just asked."""
        revisions = np.array([present if revision is None else revision for revision in made_by.to_pylist()], dtype=object)
        counted = {
            group.label: Counter(revisions[(grouping.codes == place) & part].tolist()) for place, group in enumerate(grouping.groups)
        }
        comparable = {label: counter.pop(present, 0) for label, counter in counted.items()}
        return cls(present, comparable, {label: dict(counter) for label, counter in counted.items() if counter})

    @classmethod
    def merged(cls, several: Sequence["OtherRevisions"]) -> "OtherRevisions | None":
        """The sum of several, of which the last one's revision is the present one; None of none."""
        if not several:
            return None
        comparable: Counter[str] = Counter()
        others: dict[str, Counter[str]] = {}
        for one in several:
            comparable.update(one.comparable)
            for label, counted in one.others.items():
                others.setdefault(label, Counter()).update(counted)
        return cls(several[-1].present, comparable, others)

    def to_json(self) -> dict[str, Any]:
        """The counts as plain JSON values."""
        return {
            "present": self.present,
            "comparable": dict(self.comparable),
            "others": {label: dict(by) for label, by in self.others.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The counts `to_json` wrote."""
        return cls(stored["present"], stored["comparable"], stored["others"])

    def of(self, labels: Iterable[str]) -> tuple[int, Counter[str]]:
        """The comparable records of those groups together, and the others by revision."""
        several = list(labels)
        others: Counter[str] = Counter()
        for label in several:
            others.update(self.others.get(label, {}))
        return sum(self.comparable.get(label, 0) for label in several), others


def explained(measurements: Iterable[Measurement], groups: Groups, found: OtherRevisions | None) -> Iterator[Measurement]:
    """The measurements of one table of those `groups`; a null that other revisions are the cause, or a part of it, with that reason."""
    for one in measurements:
        if found is None or not found.others or one.value is not None:
            yield one
        else:
            yield replace(one, reason=_reason(one, groups, found))


def _reason(null: Measurement, groups: Groups, found: OtherRevisions) -> str | None:
    """Why there is no number: the first side of the figure that has records of other revisions only, or what was said and how many more."""
    noun = "labelled record" if null.data in _LABELLED else "record"
    sides = [(member, *found.of(groups[column].label for column in member.columns)) for member in _sides(null, groups)]
    for member, comparable, others in sides:
        if others and not comparable:
            what = f"all {others.total():,} {noun}s{member.of} were" if others.total() > 1 else f"the only {noun}{member.of} was"
            return (
                f"{what} answered by {_named(others)}, and the deployment is at model revision {found.present!r}:"
                " the next records of that revision will be compared"
            )
    for member, _, others in sides:
        if others:
            what = f"{others.total():,} further {noun}s{member.of} were" if others.total() > 1 else f"one further {noun}{member.of} was"
            return f"{null.reason}; {what} answered by {_named(others)}, not by the present one, {found.present!r}"
    return null.reason


def _sides(null: Measurement, groups: Groups) -> list[Member]:
    """The members that the figure is about, and those it is compared with."""
    how = CATALOGUE[null.metric].measure
    if how == _OF_REFERENCE:
        return [reference(groups)]
    scope = Scope.POOLED if null.scope is Scope.WORST else null.scope
    own = [member for member in members(get_args(metrics.Scope), groups) if (member.scope, member.label) == (scope.value, null.group)]
    # Everybody includes the records of no group, which have no label to be counted under.
    named = [member._replace(columns=tuple(column for column in member.columns if column < len(groups))) for member in own]
    return [*named, reference(groups)] if isinstance(how, Compared | OfPair) else named


def _named(others: Counter[str]) -> str:
    """The revisions, those of most records first."""
    names = [repr(revision) for revision in sorted(others, key=lambda revision: (-others[revision], revision))[:NAMED]]
    names += ["…"] if len(others) > NAMED else []
    return f"model revision {names[0]}" if len(names) == 1 else f"model revisions {', '.join(names[:-1])} and {names[-1]}"
