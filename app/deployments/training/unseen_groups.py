"""Warnings of outcomes and groups that neither the training data nor the newest records hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem
from ...base.frozen import frozen
from ...base.values import GroupValue, Range, canonical, fold, name_value, nearest, read_number, spelled
from ...domain.deployment import Column, Deployment
from ...domain.groups import Group, count_twins, describe_twins, positions
from ...domain.monitor import Monitor, Outcome, OutcomeRule
from ...sources.stored.newest_record import SampledColumn, ValueCount, newest_values
from .from_distributions import Inexact, classify_cell_label
from .queries import find_training_summary, read_distributions

MOST_SHOWN = 10

MOST_WARNINGS = 10
"""Max warnings of one list of values; the others are counted in one more."""


@dataclass(slots=True)
class _Seen:
    """The values of one column, or the outcomes, by their spelling, and where they were seen. A range is a trained interval."""

    counts: dict[str, int] = field(default_factory=dict)
    values: dict[str, GroupValue] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def add_trained(self, value: GroupValue | None, records: int) -> None:
        if value is not None:
            self.places = ["the training data"]
            self._add(value, records)

    def add_logged(self, values: Sequence[ValueCount], records: int) -> None:
        for count in values:
            self._add(count.value, count.records)
        if values:
            self.places.append("the newest record" if records == 1 else f"the newest {records:,} records")

    def _add(self, value: GroupValue, records: int) -> None:
        key = spelled(value)
        self.counts[key] = self.counts.get(key, 0) + records
        self.values[key] = value

    @property
    def where(self) -> str:
        return " or in ".join(self.places)

    @property
    def most_frequent(self) -> list[str]:
        return sorted(self.counts, key=lambda key: (-self.counts[key], key))


@frozen
class _List:
    """One list of the monitor: its place, its members, and the column whose values it lists; None: outcomes."""

    field: str
    members: Sequence[GroupValue]
    column: Column | None


def find_unseen(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    """Returns one warning for each listed outcome, group or range that no seen value belongs to, with the values that were seen.

    If neither the distributions nor the newest records have a value of a column, nothing is said of it.
    """
    lists = [_List("favourable", monitor.outcomes.favourable, None), _List("unfavourable", monitor.outcomes.unfavourable, None)]
    for position, attribute in enumerate(monitor.attributes):
        column = deployment.schema.column(attribute.feature)
        if column is not None:
            lists.append(_List(f"attributes[{position}].monitored", attribute.monitored, column))
            lists.append(_List(f"attributes[{position}].reference", attribute.reference or (), column))
    columns = list({entry.column.name: entry.column for entry in lists if entry.column is not None}.values())
    seen_of = _read_seen(session, deployment, columns)

    warnings: list[FieldProblem] = []
    for position, attribute in enumerate(monitor.attributes):
        if (seen_values := seen_of.get(attribute.feature)) is not None:
            records = {value: seen_values.counts[key] for key, value in seen_values.values.items() if isinstance(value, str)}
            twins = count_twins(attribute.feature, records, (*attribute.monitored, *(attribute.reference or ())))
            warnings += [FieldProblem(f"attributes[{position}]", sentence) for sentence in describe_twins(twins)]
    for entry in lists:
        seen_values = seen_of[None if entry.column is None else entry.column.name]
        if not seen_values.values:
            continue
        matched = _find_seen(entry, list(seen_values.values.values()))
        unseen = [position for position in range(len(entry.members)) if position not in matched]
        warnings += [
            FieldProblem(f"{entry.field}[{position}]", _describe(entry.members[position], seen_values))
            for position in unseen[:MOST_WARNINGS]
        ]
        if len(unseen) > MOST_WARNINGS:
            remainder = f"{len(unseen) - MOST_WARNINGS:,} further values were never seen in {seen_values.where} either"
            warnings.append(FieldProblem(entry.field, remainder))
    return warnings


def _read_seen(session: Session, deployment: Deployment, columns: Sequence[Column]) -> dict[str | None, _Seen]:
    features, meta = deployment.schema.features, deployment.schema.meta
    sampled = [
        SampledColumn(in_features=True, position=features.index(column))
        if column in features
        else SampledColumn(in_features=False, position=meta.index(column))
        for column in columns
    ]
    newest = newest_values(session, deployment.no, deployment.schema.version, sampled)
    summary = find_training_summary(session, deployment.no)
    outcomes = _Seen()
    for cell in () if summary is None else summary.labels.cells:
        outcomes.add_trained(cell.label, cell.records)
    outcomes.add_logged(newest.outcomes, newest.records)

    seen_of: dict[str | None, _Seen] = {None: outcomes}
    for column, counts in zip(columns, newest.columns, strict=True):
        seen_of[column.name] = _Seen()
        for distribution in read_distributions(session, deployment.no, column.name)[:1]:
            position = distribution.columns.index(column.name)
            for cell in distribution.cells:
                seen_of[column.name].add_trained(cell.values[position], cell.records)
        seen_of[column.name].add_logged(counts, newest.records_of_version)
    return seen_of


def _find_seen(listed: _List, values: Sequence[GroupValue]) -> set[int]:
    """Returns the positions of the members that a seen value belongs to, or may: part of an interval can be in a range."""
    members = listed.members
    if listed.column is not None:
        groups = [Group(name_value(member), "monitored", member) for member in members]
        matched = set(positions(groups, listed.column, [value for value in values if not isinstance(value, Range)]))
        intervals = [value for value in values if isinstance(value, Range)]
        for position, member in enumerate(members):
            number = None if isinstance(member, Range) else read_number(member)
            if isinstance(member, Range):
                is_within = any(map(member.overlaps, intervals))
            else:
                is_within = number is not None and any(number in interval for interval in intervals)
            matched |= {position} if is_within else set()
        return matched

    # Only spellings that fold to the same text can be one outcome, except of booleans: a look-up spares the test of every pair.
    by_text: dict[str, list[int]] = {}
    for position, member in enumerate(members):
        by_text.setdefault(fold(member), []).append(position)
    always = [position for position, member in enumerate(members) if isinstance(member, Range | bool)]
    matched = set()
    for value in values:
        candidates = range(len(members)) if isinstance(value, Range) else [*always, *by_text.get(fold(value), ())]
        for position in candidates:
            if position in matched:
                continue
            try:
                is_outcome = classify_cell_label(value, OutcomeRule((members[position],), ())) is Outcome.FAVOURABLE
            except Inexact:
                is_outcome = True
            matched |= {position} if is_outcome else set()
    return matched


def _describe(member: GroupValue, seen_values: _Seen) -> str:
    closest: GroupValue | None = None
    if isinstance(member, Range):
        never = f"no value from {canonical(member.lo)} to {canonical(member.hi)} was seen in {seen_values.where}"
        numbers: list[float] = []
        for value in seen_values.values.values():
            number = None if isinstance(value, str | Range) else read_number(value)
            numbers += [value.lo, value.hi] if isinstance(value, Range) else [] if number is None else [number, number]
        if len(numbers) == 2 * len(seen_values.values):
            return f"{never}, where the numbers go from {canonical(min(numbers))} to {canonical(max(numbers))}"
    else:
        never = f"{spelled(member):.60} was never seen in {seen_values.where}"
        # The most frequent last, which counts of several that are alike.
        spellings = {fold(seen_values.values[key]): seen_values.values[key] for key in reversed(seen_values.most_frequent)}
        near = nearest(fold(member), spellings) if isinstance(member, str) or fold(member) in spellings else None
        closest = None if near is None else spellings[near]

    frequent = seen_values.most_frequent
    shown = ", ".join(f"{spelled(seen_values.values[key]):.60} ({seen_values.counts[key]:,})" for key in frequent[:MOST_SHOWN])
    remainder = f" and {len(frequent) - MOST_SHOWN:,} more" if len(frequent) > MOST_SHOWN else ""
    if closest is None:
        return f"{never}; seen there: {shown}{remainder}"
    # Two values of one spelling differ in their type only, so the message names it.
    is_of_other_type = not isinstance(closest, Range | bool) and isinstance(closest, str) != isinstance(member, str)
    kind = ("the text " if isinstance(closest, str) else "the number ") if is_of_other_type else ""
    return f"{never}; seen there: {shown}{remainder}; did you mean {kind}{spelled(closest):.60}?"
