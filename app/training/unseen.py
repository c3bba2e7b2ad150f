"""Warnings of outcomes and groups that a monitor names and that neither the training data nor the newest records hold."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from app.domain.deployments import Column, Deployment
from app.domain.groups import Group, positions
from app.domain.monitors import Monitor
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.values import GroupValue, Range, canonical, label_of, number_of, spelled
from app.errors import FieldProblem
from app.store.samples import NewestValues, SampledColumn, ValueCount, newest_values
from app.store.training_data import distributions_of, training_summary_of
from app.training.from_distributions import Inexact, outcome_of_label

SAMPLED = 10_000
"""Of the newest payload records."""

MOST_SHOWN = 10
"""Values that one warning lists, the most frequent first."""

MOST_WARNINGS = 10
"""Of one list of values; the others are counted in one more."""

_LONGEST = 60


@dataclass(slots=True)
class _Seen:
    """The values of one column, or the outcomes, by how they are spelled, and where they were seen. A range is a trained interval."""

    counts: dict[str, int] = field(default_factory=dict)
    values: dict[str, GroupValue] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def add_trained(self, value: GroupValue | None, records: int) -> None:
        """Counts a value of the training data; None is a missing one."""
        if value is not None:
            self.places = ["the training data"]
            self._add(value, records)

    def add_logged(self, values: Sequence[ValueCount], records: int) -> None:
        """Counts the values of so many of the newest records."""
        for one in values:
            self._add(one.value, one.records)
        if values:
            self.places.append("the newest record" if records == 1 else f"the newest {records:,} records")

    def _add(self, value: GroupValue, records: int) -> None:
        key = spelled(value)
        self.counts[key] = self.counts.get(key, 0) + records
        self.values[key] = value

    @property
    def where(self) -> str:
        """In words."""
        return " or in ".join(self.places)

    @property
    def most_frequent(self) -> list[str]:
        """The keys of the values, those of most records first, those of as many by their text."""
        return sorted(self.counts, key=lambda key: (-self.counts[key], key))


@dataclass(frozen=True, slots=True)
class _List:
    """One list of the monitor: where it is, what it lists, and the column whose values it lists; None: outcomes."""

    field: str
    members: Sequence[GroupValue]
    column: Column | None


def unseen_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    """One warning for each listed outcome, group or range that nothing seen is, with the values that were seen.

    Looks at the distributions of the training data and at the newest SAMPLED records. Where neither knows a value of a column,
    nothing is said of it.
    """
    lists = _lists(deployment, monitor)
    columns = list({one.column.name: one.column for one in lists if one.column is not None}.values())
    newest = newest_values(session, deployment.no, deployment.schema.version, [_place(deployment, one) for one in columns], SAMPLED)
    seen: dict[str | None, _Seen] = {None: _outcomes_seen(session, deployment, newest)}
    for column, counts in zip(columns, newest.columns, strict=True):
        seen[column.name] = _column_seen(session, deployment, column, counts, newest.records_of_version)
    return [warning for one in lists for warning in _warnings(one, seen[None if one.column is None else one.column.name])]


def _lists(deployment: Deployment, monitor: Monitor) -> list[_List]:
    found = [_List("favourable", monitor.outcomes.favourable, None), _List("unfavourable", monitor.outcomes.unfavourable, None)]
    for place, attribute in enumerate(monitor.attributes):
        column = deployment.schema.column(attribute.feature)
        if column is not None:
            found.append(_List(f"attributes[{place}].monitored", attribute.monitored, column))
            found.append(_List(f"attributes[{place}].reference", attribute.reference or (), column))
    return found


def _place(deployment: Deployment, column: Column) -> SampledColumn:
    features = [one.name for one in deployment.schema.features]
    if column.name in features:
        return SampledColumn(in_features=True, position=features.index(column.name))
    return SampledColumn(in_features=False, position=[one.name for one in deployment.schema.meta].index(column.name))


def _outcomes_seen(session: Session, deployment: Deployment, newest: NewestValues) -> _Seen:
    summary = training_summary_of(session, deployment.no)
    seen = _Seen()
    for cell in () if summary is None else summary.labels.cells:
        seen.add_trained(cell.label, cell.records)
    seen.add_logged(newest.outcomes, newest.records)
    return seen


def _column_seen(session: Session, deployment: Deployment, column: Column, logged: Sequence[ValueCount], records: int) -> _Seen:
    seen = _Seen()
    for distribution in distributions_of(session, deployment.no, column.name)[:1]:
        place = distribution.columns.index(column.name)
        for cell in distribution.cells:
            seen.add_trained(cell.values[place], cell.records)
    seen.add_logged(logged, records)
    return seen


def _warnings(listed: _List, seen: _Seen) -> Iterator[FieldProblem]:
    if not seen.values:
        return
    values = list(seen.values.values())
    found = _outcomes_found(listed.members, values) if listed.column is None else _groups_found(listed.members, listed.column, values)
    unseen = [place for place in range(len(listed.members)) if place not in found]
    for place in unseen[:MOST_WARNINGS]:
        yield FieldProblem(f"{listed.field}[{place}]", _message(listed.members[place], seen))
    if len(unseen) > MOST_WARNINGS:
        yield FieldProblem(listed.field, f"{len(unseen) - MOST_WARNINGS:,} further values were never seen in {seen.where} either")


def _groups_found(members: Sequence[GroupValue], column: Column, values: Sequence[GroupValue]) -> set[int]:
    """The positions of the listed groups that hold a seen value, or may: an interval of numbers can lie in a range in part."""
    groups = [Group(label_of(member), "monitored", member) for member in members]
    found = set(positions(groups, column, [value for value in values if not isinstance(value, Range)]))
    intervals = [value for value in values if isinstance(value, Range)]
    return found | {place for place, member in enumerate(members) if any(_overlaps(member, interval) for interval in intervals)}


def _outcomes_found(members: Sequence[GroupValue], values: Sequence[GroupValue]) -> set[int]:
    """The positions of the listed outcomes that a seen value counts under, or may."""
    by_text: dict[str, list[int]] = {}
    for place, member in enumerate(members):
        by_text.setdefault(_folded(member), []).append(place)
    ranges = [place for place, member in enumerate(members) if isinstance(member, Range)]
    found: set[int] = set()
    for value in values:
        candidates = range(len(members)) if isinstance(value, Range) else [*ranges, *by_text.get(_folded(value), ())]
        found.update(place for place in candidates if place not in found and _is_outcome(members[place], value))
    return found


def _folded(value: GroupValue) -> str:
    """What two spellings that may be one outcome have in common."""
    return label_of(value).strip().casefold()


def _is_outcome(member: GroupValue, value: GroupValue) -> bool:
    """Whether the value counts under the listed outcome; an interval that lies in it in part may."""
    try:
        return outcome_of_label(value, OutcomeRule((member,), ())) is Outcome.FAVOURABLE
    except Inexact:
        return True


def _overlaps(member: GroupValue, interval: Range) -> bool:
    if isinstance(member, Range):
        return member.overlaps(interval)
    number = number_of(member)
    return number is not None and number in interval


def _message(member: GroupValue, seen: _Seen) -> str:
    never = f"{_shown(member)} was never seen in {seen.where}"
    if isinstance(member, Range):
        never = f"no value from {canonical(member.lo)} to {canonical(member.hi)} was seen in {seen.where}"
    numbers = [end for value in seen.values.values() if (end := _ends(value)) is not None]
    if isinstance(member, Range) and len(numbers) == len(seen.values):
        return (
            f"{never}, where the numbers go from {canonical(min(low.lo for low in numbers))} to {canonical(max(one.hi for one in numbers))}"
        )
    frequent = seen.most_frequent
    shown = ", ".join(f"{_shown(seen.values[key])} ({seen.counts[key]:,})" for key in frequent[:MOST_SHOWN])
    more = f" and {len(frequent) - MOST_SHOWN:,} more" if len(frequent) > MOST_SHOWN else ""
    return f"{never}; seen there: {shown}{more}{_meant(member, seen)}"


def _ends(value: GroupValue) -> Range | None:
    """The interval, or the number as an interval of itself; None of text and of true or false."""
    if isinstance(value, Range):
        return value
    number = None if isinstance(value, str) else number_of(value)
    return None if number is None else Range(number, number)


def _meant(member: GroupValue, seen: _Seen) -> str:
    """The seen value that is most like the listed one, as a question; nothing where none is."""
    if isinstance(member, Range):
        return ""
    folded = {key: _folded(seen.values[key])[:_LONGEST] for key in seen.most_frequent}
    wanted = _folded(member)[:_LONGEST]
    alike = [wanted] if wanted in folded.values() else []
    near = alike or (difflib.get_close_matches(wanted, folded.values(), n=1) if isinstance(member, str) else [])
    closest = next((key for key, text in folded.items() if near and text == near[0]), None)
    return "" if closest is None else f"; did you mean {_told_apart(seen.values[closest], member)}?"


def _told_apart(value: GroupValue, other: GroupValue) -> str:
    """The value, and its type where the other has another: two values of one spelling differ in nothing else."""
    if isinstance(value, Range | bool) or isinstance(value, str) == isinstance(other, str):
        return _shown(value)
    return f"the {'text' if isinstance(value, str) else 'number'} {_shown(value)}"


def _shown(value: GroupValue) -> str:
    text = spelled(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
