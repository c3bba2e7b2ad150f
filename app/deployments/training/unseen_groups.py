"""Two uses of the values that were seen: donors, and warnings.

A copy takes its correlated features from whole training records, the donors: drawn one by one they would
describe impossible people. A monitor is warned of listed outcomes and groups that were never seen.
"""

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem, InvalidInput
from ...base.values import (
    GroupValue,
    Range,
    Scalar,
    canonical,
    find_nearest,
    fold,
    frozen,
    join_first,
    name_value,
    read_number,
    spelled,
)
from ...domain.deployment import Column, Deployment, RecordSchema
from ...domain.groups import Group, count_twins, describe_twins, find_group_positions
from ...domain.monitor import Monitor, Outcome, OutcomeRule
from ...sources.arrays.read_records import convert_to_type
from ...sources.stored.newest_record import count_newest_values
from ...statistics.group_labels import NEITHER
from .from_distributions import InexactDistribution, classify_cell_label, find_bounds
from .queries import Donor, Donors, find_training_summary, read_distributions, read_donor_features

MAX_REPRESENTATIVES = 20

ValuesByFeature = Mapping[str, Scalar | None]
"""None where missing."""


@dataclass(frozen=True)
class GroupDonors:
    """Donors of one group: `rows` of features, each for so many training `records`."""

    features: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    records: tuple[float, ...]
    digest: str

    @cached_property
    def _cumulated_records(self) -> list[float]:
        return list(accumulate(self.records))

    def choose(self, share: float) -> ValuesByFeature:
        """`share` is in [0, 1), of the group's training records."""
        # Rounded, a share just below 1 can reach the end of the last donor.
        index = min(
            bisect_right(self._cumulated_records, share * self._cumulated_records[-1]), len(self.rows) - 1
        )
        return dict(zip(self.features, self.rows[index], strict=True))


@frozen
class Representatives:
    """Most frequent combinations, with their shares among them; `covered` is their share of the group."""

    combinations: tuple[tuple[float, ValuesByFeature], ...]
    covered: float


def find_donors_of_groups(
    donors: Donors, groups: Sequence[Group], column: Column, schema: RecordSchema, features: Sequence[str]
) -> list[GroupDonors]:
    """Raises InvalidInput if the data lack one of the features, or have another type."""
    for name in features:
        present_column = schema.column(name)
        if present_column is None or (name, present_column.type) not in donors.features:
            raise InvalidInput(
                f"attributes.{column.name}.correlated_features", describe_missing_feature(name)
            )
    columns = [(index, kind) for index, (name, kind) in enumerate(donors.features) if name in features]
    donors_by_group: list[list[Donor]] = [[] for _ in groups]
    for donor, position in zip(
        donors.donors,
        find_group_positions(groups, column, (donor.value for donor in donors.donors)),
        strict=True,
    ):
        if position != NEITHER:
            donors_by_group[position].append(donor)
    return [
        GroupDonors(
            tuple(name for name, _ in donors.features if name in features),
            tuple(
                tuple(
                    None if (value := donor.features[index]) is None else convert_to_type(value, kind)
                    for index, kind in columns
                )
                for donor in group_donors
            ),
            tuple(donor.records for donor in group_donors),
            donors.digest,
        )
        for group_donors in donors_by_group
    ]


def find_representative_donors(donors: GroupDonors, limit: int = MAX_REPRESENTATIVES) -> Representatives:
    records_by_combination = defaultdict[str, float](float)
    for row, records in zip(donors.rows, donors.records, strict=True):
        records_by_combination[json.dumps(row)] += records
    if not records_by_combination:
        return Representatives((), 0.0)
    # Equally frequent ones by their text, so that every check chooses the same.
    frequent = sorted(
        records_by_combination.items(), key=lambda combination: (-combination[1], combination[0])
    )[:limit]
    covered_records = sum(records for _, records in frequent)
    combinations = tuple(
        (records / covered_records, dict(zip(donors.features, json.loads(text), strict=True)))
        for text, records in frequent
    )
    # Parts added in another order can come out slightly above the whole.
    return Representatives(combinations, min(covered_records / sum(donors.records), 1.0))


def require_donors(donors: GroupDonors, group: Group, column: Column) -> None:
    if not donors.rows:
        raise InvalidInput(
            f"attributes.{column.name}.correlated_features",
            f"the training data keep no record of the group {name_value(group.value)!r:.100} of "
            f"{column.name}, from which copies would take their correlated features: they hold none, or too "
            "many other values that are more frequent; upload training data with such records, or leave "
            "the group out of the monitor",
        )


def find_donor_problems(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    if not any(attribute.correlated_features for attribute in monitor.attributes):
        return []
    stored_features = read_donor_features(session, deployment.no)
    types = {column.name: column.type for column in deployment.schema.features}
    return [
        FieldProblem(
            f"attributes[{index}].correlated_features[{number}]",
            describe_missing_feature(name)
            if attribute.feature in stored_features
            else describe_missing_field(attribute.feature),
        )
        for index, attribute in enumerate(monitor.attributes)
        for number, name in enumerate(attribute.correlated_features)
        if name not in types or stored_features.get(attribute.feature, {}).get(name) is not types[name]
    ]


def describe_missing_feature(name: str) -> str:
    return (
        f"the training data keep no values of {name!r:.100}: its association with the meta field is weaker "
        "than is kept, or could not be"
        " measured, or its type was changed since; GET …/correlated-features says which can be picked"
    )


def describe_missing_field(name: str) -> str:
    return (
        f"no training data hold both {name!r:.100} and the features; upload them as a file with that column"
    )


MAX_NAMED_VALUES = 10

TRAINING_SOURCE = "the training data"

MAX_UNSEEN_WARNINGS = 10


@dataclass(slots=True)
class _SeenValues:
    """Values of a column that were seen, by spelling, and where."""

    counts: Counter[str] = field(default_factory=Counter)
    values: dict[str, GroupValue] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)

    def add(self, records_by_combination: Iterable[tuple[GroupValue | None, int]], source: str) -> None:
        for value, records in records_by_combination:
            if value is not None:
                self.counts[spelled(value)] += records
                self.values[spelled(value)] = value
                self.sources += [] if source in self.sources else [source]

    @property
    def where(self) -> str:
        return " or in ".join(self.sources)

    @property
    def most_frequent(self) -> list[str]:
        return sorted(self.counts, key=lambda key: (-self.counts[key], key))


def find_unseen(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    """Finds each listed outcome, group or range without a seen value; none in a column without any value."""
    lists: list[tuple[str, Sequence[GroupValue], Column | None]] = [
        ("favourable", monitor.outcomes.favourable, None),
        ("unfavourable", monitor.outcomes.unfavourable, None),
    ]
    for position, attribute in enumerate(monitor.attributes):
        column = deployment.schema.column(attribute.feature)
        if column is not None:
            lists.append((f"attributes[{position}].monitored", attribute.monitored, column))
            lists.append((f"attributes[{position}].reference", attribute.reference or (), column))
    seen_by_column = _read_seen(
        session,
        deployment,
        list({column.name: column for _, _, column in lists if column is not None}.values()),
    )

    warnings = []
    for position, attribute in enumerate(monitor.attributes):
        if (seen_values := seen_by_column.get(attribute.feature)) is not None:
            records = {
                value: seen_values.counts[key]
                for key, value in seen_values.values.items()
                if isinstance(value, str)
            }
            twins = count_twins(attribute.feature, records, attribute.listed)
            warnings += [FieldProblem(f"attributes[{position}]", never) for never in describe_twins(twins)]
    for list_field, members, column in lists:
        seen_values = seen_by_column[None if column is None else column.name]
        if not seen_values.values:
            continue
        matched = _find_seen_members(members, column, list(seen_values.values.values()))
        unseen = [position for position in range(len(members)) if position not in matched]
        warnings += [
            FieldProblem(f"{list_field}[{position}]", _describe_unseen(members[position], seen_values))
            for position in unseen[:MAX_UNSEEN_WARNINGS]
        ]
        if len(unseen) > MAX_UNSEEN_WARNINGS:
            remainder = (
                f"{len(unseen) - MAX_UNSEEN_WARNINGS:,} further values were never seen in "
                f"{seen_values.where} either"
            )
            warnings.append(FieldProblem(list_field, remainder))
    return warnings


def _read_seen(
    session: Session, deployment: Deployment, columns: Sequence[Column]
) -> dict[str | None, _SeenValues]:
    newest = count_newest_values(session, deployment.no, deployment.schema, columns)
    summary = find_training_summary(session, deployment.no)
    seen_by_column: dict[str | None, _SeenValues] = {None: _SeenValues()}
    seen_by_column[None].add(
        ((cell.label, cell.records) for cell in (summary.labels.cells if summary else ())), TRAINING_SOURCE
    )
    seen_by_column[None].add(newest.outcomes, _name_newest(newest.records))
    for column, counts in zip(columns, newest.columns, strict=True):
        seen_by_column[column.name] = _SeenValues()
        for distribution in read_distributions(session, deployment.no, column.name)[:1]:
            position = distribution.columns.index(column.name)
            seen_by_column[column.name].add(
                ((cell.values[position], cell.records) for cell in distribution.cells), TRAINING_SOURCE
            )
        seen_by_column[column.name].add(counts, _name_newest(newest.records_of_version))
    return seen_by_column


def _name_newest(records: int) -> str:
    return "the newest record" if records == 1 else f"the newest {records:,} records"


def _find_seen_members(
    members: Sequence[GroupValue], column: Column | None, values: Sequence[GroupValue]
) -> set[int]:
    """Also those that a seen value may belong to: part of an interval can be in a range."""
    if column is not None:
        groups = [Group(name_value(member), "monitored", member) for member in members]
        matched = set(
            find_group_positions(groups, column, [value for value in values if not isinstance(value, Range)])
        )
        intervals = [value for value in values if isinstance(value, Range)]
        bounds = [find_bounds(member) for member in members]
        return matched | {
            position for position, ends in enumerate(bounds) if ends and any(map(ends.overlaps, intervals))
        }

    # Only spellings that fold to the same text can be one outcome, except of booleans: a look-up spares the
    # test of every pair.
    positions_by_text: dict[str, list[int]] = {}
    for position, member in enumerate(members):
        positions_by_text.setdefault(fold(member), []).append(position)
    positions_without_text = [
        position for position, member in enumerate(members) if isinstance(member, Range | bool)
    ]
    matched = set()
    for value in values:
        candidates = (
            range(len(members))
            if isinstance(value, Range)
            else [*positions_without_text, *positions_by_text.get(fold(value), ())]
        )
        for position in candidates:
            try:
                is_outcome = (
                    classify_cell_label(value, OutcomeRule((members[position],), ())) is Outcome.FAVOURABLE
                )
            except InexactDistribution:
                is_outcome = True
            if is_outcome:
                matched.add(position)
    return matched


def _describe_unseen(member: GroupValue, seen_values: _SeenValues) -> str:
    closest: GroupValue | None = None
    if isinstance(member, Range):
        never = (
            f"no value from {canonical(member.lo)} to {canonical(member.hi)} was seen in {seen_values.where}"
        )
        numbers: list[float] = []
        for value in seen_values.values.values():
            number = None if isinstance(value, str | Range) else read_number(value)
            if isinstance(value, Range):
                numbers += [value.lo, value.hi]
            elif number is not None:
                numbers += [number, number]
        if len(numbers) == 2 * len(seen_values.values):
            return (
                f"{never}, where the numbers go from {canonical(min(numbers))} to {canonical(max(numbers))}"
            )
    else:
        never = f"{spelled(member):.60} was never seen in {seen_values.where}"
        # The most frequent last, which counts of several that are alike.
        spellings = {
            fold(seen_values.values[key]): seen_values.values[key]
            for key in reversed(seen_values.most_frequent)
        }
        spelling = (
            find_nearest(fold(member), spellings)
            if isinstance(member, str) or fold(member) in spellings
            else None
        )
        closest = None if spelling is None else spellings[spelling]

    listed = join_first(
        (
            f"{spelled(seen_values.values[key]):.60} ({seen_values.counts[key]:,})"
            for key in seen_values.most_frequent
        ),
        MAX_NAMED_VALUES,
    )
    if closest is None:
        return f"{never}; seen there: {listed}"
    # Two values of one spelling differ in their type only, so the message names it.
    is_of_other_type = not isinstance(closest, Range | bool) and isinstance(closest, str) != isinstance(
        member, str
    )
    kind = ("the text " if isinstance(closest, str) else "the number ") if is_of_other_type else ""
    return f"{never}; seen there: {listed}; did you mean {kind}{spelled(closest):.60}?"
