"""A deployment's fairness monitor: outcomes, attributes, settings, names, and its comparisons."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum, StrEnum
from itertools import combinations, pairwise
from typing import Any

from ..base.errors import FieldProblem
from ..base.values import (
    BOOLEANS,
    TOGETHER,
    GroupValue,
    Range,
    Scalar,
    canonical,
    exact_number,
    fold,
    frozen,
    frozen_by_name,
    name_problem,
    name_value,
    quote_names,
    read_number,
)
from .deployment import Column, FieldKind, FieldType, RecordSchema
from .group_rules import ALL_OTHERS, FoundBy, GroupRule

MAX_DISPLAY_NAME_CHARACTERS = 60
MAX_NAMED_GROUPS = 1_000

DEFAULT_THRESHOLD = 0.8
"""The four-fifths rule, as OpenScale defaults it."""

DRAWS_PER_ROW = 2
"""Copies of each source record for each target range of a numeric attribute."""

LABEL_HORIZON_HOURS = 720
"""Default time within which a label of a record counts."""

FALSE_ALARM_HOURS = 8760
"""Default average time between false alarms."""

MIN_FALSE_ALARM_HOURS = 20
UNKNOWN_PERSON_DIVISOR = 10
"""Records that one person may have in an hour, while no column says whose records they are."""

POOLED_GROUP = "monitored groups together"
"""Label of all monitored groups of an attribute as one."""

MAX_NIGHTLY_ROWS = 50_000

MAX_DIVISIONS = 20
"""Divisions of one label that are returned: a filter of nothing but × has exponentially many."""


@frozen_by_name
class GroupName:
    """Name that people gave to the group of a feature."""

    feature: str
    group: str
    name: str


@frozen_by_name
class DisplayNames:
    """Names that people gave, for sentences only. `favourable` continues "they are": `rated No Risk`."""

    favourable: str | None = None
    groups: tuple[GroupName, ...] = ()

    def find(self, feature: str, group: str) -> str | None:
        return next(
            (
                group_name.name
                for group_name in self.groups
                if (group_name.feature, group_name.group) == (feature, group)
            ),
            None,
        )


def find_display_name_problems(
    names: DisplayNames, groups: Mapping[str, Collection[str] | None]
) -> Iterator[FieldProblem]:
    """Finds faults of the names; `groups` are labels by watched feature, None where any value may be one."""
    if names.favourable is not None:
        yield from _check_name("names.favourable", names.favourable)
    if len(names.groups) > MAX_NAMED_GROUPS:
        yield FieldProblem(
            "names.groups", f"must name at most {MAX_NAMED_GROUPS:,} groups, found {len(names.groups):,}"
        )
        return
    labels_by_name: dict[str, dict[str, str]] = {}
    for group_name in names.groups:
        field = f"names.groups.{group_name.feature}.{group_name.group}"
        if group_name.feature not in groups:
            yield FieldProblem(
                f"names.groups.{group_name.feature}", "is not an attribute that the monitor watches"
            )
            continue
        labels = groups[group_name.feature]
        if labels is not None and group_name.group not in labels:
            yield FieldProblem(
                field,
                f"is not a group of {group_name.feature!r}; its groups are {quote_names(sorted(labels))}",
            )
        yield from _check_name(field, group_name.name)
        namesake = labels_by_name.setdefault(group_name.feature, {}).setdefault(
            group_name.name.strip().casefold(), group_name.group
        )
        if namesake != group_name.group:
            yield FieldProblem(
                field,
                f"is the name of {namesake!r:.100}, too; two groups with one name cannot be distinguished",
            )


def _check_name(field: str, name: str) -> Iterator[FieldProblem]:
    problem = name_problem(name)
    if problem is None and len(name) > MAX_DISPLAY_NAME_CHARACTERS:
        problem = f"must have at most {MAX_DISPLAY_NAME_CHARACTERS} characters, found {len(name)}"
    if problem:
        yield FieldProblem(field, problem)


@frozen
class ValueTest:
    """Test that is passed by canonical `texts`, by folded texts in `spellings`, and by numbers in `ranges`.

    With `only_numbers`, text does not pass, even if it spells a number.
    """

    texts: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    only_numbers: bool = False
    spellings: tuple[str, ...] = ()

    def passes(self, value: Scalar) -> bool:
        if self.spellings and fold(value) in self.spellings:
            return True
        if self.only_numbers and isinstance(value, str):
            return False
        number = read_number(value) if self.ranges else None
        if number is not None and any(number in bounds for bounds in self.ranges):
            return True
        return canonical(value) in self.texts


def build_outcome_test(members: Sequence[GroupValue], opposite: Sequence[GroupValue] = ()) -> ValueTest:
    """Builds the test of one side's members; those of the `opposite` side take spellings away from it.

    Under a number or a range only numbers pass. Under a text anything passes that is written so, such as a
    number out of CSV; under a boolean anything that spells it, such as `True`, `TRUE` and `1`, unless that is
    listed by itself.
    """
    texts = tuple(canonical(member) for member in members if not isinstance(member, Range))
    ranges = tuple(member for member in members if isinstance(member, Range))
    spelled_texts = {fold(member) for member in (*members, *opposite) if not isinstance(member, bool)}
    listed = {canonical(member) for member in members if isinstance(member, bool)}
    spellings = tuple(
        text for text, value in BOOLEANS.items() if canonical(value) in listed and text not in spelled_texts
    )
    only_numbers = any(is_numeric(member) for member in members)
    return ValueTest(texts=texts, ranges=ranges, only_numbers=only_numbers, spellings=spellings)


def is_numeric(member: GroupValue) -> bool:
    return not isinstance(member, str | bool)


class Outcome(IntEnum):
    """Outcome of a record. UNCLASSIFIED takes no part in any rate and is counted separately."""

    UNFAVOURABLE = 0
    FAVOURABLE = 1
    UNCLASSIFIED = 2


@frozen
class OutcomeTests:
    """Tests of both sides. An answer that passes both, which no monitor allows, is favourable."""

    favourable: ValueTest
    unfavourable: ValueTest

    def classify(self, answer: Scalar | None) -> Outcome:
        if answer is None:
            return Outcome.UNCLASSIFIED
        if self.favourable.passes(answer):
            return Outcome.FAVOURABLE
        return Outcome.UNFAVOURABLE if self.unfavourable.passes(answer) else Outcome.UNCLASSIFIED

    def read(self, answer: Scalar) -> Scalar:
        """Returns the boolean that the answer spells, if it is listed; else the answer."""
        spelling = fold(answer)
        is_listed = spelling in (*self.favourable.spellings, *self.unfavourable.spellings)
        return BOOLEANS[spelling] if is_listed else answer


@frozen
class OutcomeRule:
    """Favourable and unfavourable outcomes: values, or ranges of numbers."""

    favourable: tuple[GroupValue, ...]
    unfavourable: tuple[GroupValue, ...]

    @property
    def tests(self) -> OutcomeTests:
        return OutcomeTests(
            build_outcome_test(self.favourable, self.unfavourable),
            build_outcome_test(self.unfavourable, self.favourable),
        )

    def classify(self, prediction: Scalar | None) -> Outcome:
        return self.tests.classify(prediction)

    def classify_text(self, text: str) -> Outcome:
        """Classifies canonical text; if only numbers are listed, the number that it spells."""
        number = (
            exact_number(text)
            if all(is_numeric(member) for member in (*self.favourable, *self.unfavourable))
            else None
        )
        return self.classify(text if number is None else number)


def describe_outcome(outcome: GroupValue) -> str:
    """Writes an outcome; a text that spells a number is in double quotes."""
    is_deceptive = isinstance(outcome, str) and read_number(outcome) is not None
    return f'"{outcome}"' if is_deceptive else name_value(outcome)


def list_outcome_texts(members: tuple[GroupValue, ...]) -> list[str]:
    return sorted(describe_outcome(member) for member in members)


class Schedule(StrEnum):
    """The times at which checks run by themselves. `BATCH`: a partition of files is checked as a whole when
    its files came or changed.

    Only deployments whose records lie in files have other schedules than `HOURLY` and `OFF`.
    """

    HOURLY = "hourly"
    DAILY = "daily"
    BATCH = "batch"
    OFF = "off"


@frozen_by_name
class Limits:
    """The range in which a metric counts as fair: `lower <= value <= upper`; an absent side is open."""

    lower: float | None = None
    upper: float | None = None


@frozen_by_name
class MonitoredAttribute:
    """Attribute whose groups are compared; `reference` None: every other value seen.

    `correlated_features` are those that copies of a meta field change instead of it. With a `rule`, `feature`
    is the attribute's name, and the rule says whether a record is in the monitored group or among all others;
    such an attribute has no copies. `found_by` is the scan that found the group.
    """

    feature: str
    monitored: tuple[GroupValue, ...]
    reference: tuple[GroupValue, ...] | None = None
    threshold: float = DEFAULT_THRESHOLD
    upper_threshold: float | None = None
    metric_limits: tuple[tuple[str, Limits], ...] = ()
    correlated_features: tuple[str, ...] = ()
    rule: GroupRule | None = None
    found_by: FoundBy | None = None

    @classmethod
    def of_rule(cls, name: str, rule: GroupRule, **members: Any) -> "MonitoredAttribute":  # noqa: ANN401 - the other members
        return cls(feature=name, monitored=(rule.label,), reference=(ALL_OTHERS,), rule=rule, **members)

    @property
    def listed(self) -> tuple[GroupValue, ...]:
        return (*self.monitored, *(self.reference or ()))

    @property
    def labels(self) -> list[str] | None:
        """Labels of the groups; None where every other value that is seen is one, too."""
        return None if self.reference is None else [name_value(value) for value in self.listed]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.feature,) if self.rule is None else self.rule.features

    def column_in(self, schema: RecordSchema) -> Column | None:
        """Finds the attribute's column, None if the schema lacks one; that of a rule is made up."""
        if self.rule is None:
            return schema.column(self.feature)
        if any(schema.column(name) is None for name in self.columns):
            return None
        return Column(name=self.feature, type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


@frozen_by_name
class EvidenceSettings:
    """Settings of the evidence over time.

    `person` is the column that says whose record it is: only a person's first record counts. Somebody may
    declare instead that `each_record_another_person` is true. All comparisons together raise at most one
    false alarm in `false_alarm_hours` on average.
    """

    person: str | None = None
    label_horizon_hours: int = LABEL_HORIZON_HOURS
    false_alarm_hours: int = FALSE_ALARM_HOURS
    each_record_another_person: bool = False
    declared_by: str | None = None
    declared_on: str | None = None

    @property
    def divisor(self) -> int:
        return UNKNOWN_PERSON_DIVISOR if self.person is None and not self.each_record_another_person else 1


@frozen_by_name
class AttributionSettings:
    """Whether each day's gaps are attributed in the night, and the max rows, about, that the model gets."""

    nightly: bool = False
    max_rows: int = MAX_NIGHTLY_ROWS


@frozen_by_name
class Monitor:
    """A deployment's fairness monitor. `version` grows with every change but one of `attribution` or `names`;
    each check records it.

    `metrics` None = the usual ones. `strata` is the column within whose values the conditional metrics
    compare.
    """

    outcomes: OutcomeRule
    attributes: tuple[MonitoredAttribute, ...]
    intersections: tuple[tuple[str, ...], ...] = ()
    min_records: int = 100
    max_records: int = 10_000
    schedule: Schedule = Schedule.HOURLY
    metrics: tuple[str, ...] | None = None
    strata: str | None = None
    draws: int = DRAWS_PER_ROW
    seed: int = 0
    evidence: EvidenceSettings = EvidenceSettings()
    attribution: AttributionSettings = AttributionSettings()
    names: DisplayNames = DisplayNames()
    version: int = 1

    def restrict_to(self, schema: RecordSchema) -> "Monitor":
        """Drops attributes whose columns the schema lacks, and their intersections."""
        attributes = tuple(
            attribute for attribute in self.attributes if attribute.column_in(schema) is not None
        )
        features = {attribute.feature for attribute in attributes}
        return replace(
            self,
            attributes=attributes,
            intersections=tuple(pair for pair in self.intersections if features.issuperset(pair)),
        )


@frozen
class Comparison:
    """Columns whose groups are compared together; none: all records are measured as a whole."""

    features: tuple[str, ...]

    @classmethod
    def from_label(cls, label: str, columns: Collection[str] = ()) -> "Comparison":
        """Divides a label. Of `columns`, only names that hold × as a word of their own matter.

        There is one way to divide it, because no column's name begins with another's and ×
        (`joining_problem`).
        """
        pieces = label.split(TOGETHER) if label else []
        longest = max((name.count(TOGETHER) for name in columns), default=0) + 1
        features = []
        while pieces:
            starts = [TOGETHER.join(pieces[:size]) for size in range(1, min(longest, len(pieces)) + 1)]
            features.append(next((name for name in starts if name in columns), pieces[0]))
            del pieces[: features[-1].count(TOGETHER) + 1]
        return cls(tuple(features))

    @property
    def label(self) -> str:
        return TOGETHER.join(self.features)

    @property
    def is_combination(self) -> bool:
        return len(self.features) > 1

    def members(self, monitor: Monitor) -> list[MonitoredAttribute]:
        attributes = {attribute.feature: attribute for attribute in monitor.attributes}
        return [attributes[feature] for feature in self.features if feature in attributes]

    def reference_label(self, monitor: Monitor) -> str | None:
        """Returns the label of the listed reference group; None unless every attribute lists one."""
        members = self.members(monitor)
        listed = [attribute.reference for attribute in members if attribute.reference is not None]
        if not listed or len(listed) < len(members):
            return None
        return TOGETHER.join(", ".join(map(name_value, values)) for values in listed)


def list_comparisons(monitor: Monitor) -> list[Comparison]:
    return [
        *(Comparison((attribute.feature,)) for attribute in monitor.attributes),
        *map(Comparison, monitor.intersections),
    ]


def find_comparison(monitor: Monitor, label: str) -> Comparison | None:
    return next((comparison for comparison in list_comparisons(monitor) if comparison.label == label), None)


def split_group(label: str, attributes: Sequence[MonitoredAttribute]) -> list[tuple[str, ...]]:
    """Divides the label of a combination's group into labels of its attributes' groups.

    Values that were merely seen may hold × as a word of their own: of several ways, at most `MAX_DIVISIONS`
    are returned.
    """
    groups = [attribute.labels for attribute in attributes]
    pieces = label.split(TOGETHER)
    divisions = []
    for cuts in combinations(range(1, len(pieces)), len(attributes) - 1):
        labels = tuple(TOGETHER.join(pieces[start:end]) for start, end in pairwise((0, *cuts, len(pieces))))
        if all(listed is None or piece in listed for piece, listed in zip(labels, groups, strict=True)):
            divisions.append(labels)
        if len(divisions) == MAX_DIVISIONS:
            break
    return divisions
