"""The groups of an attribute, and their words. Source: spec of the fairness check, sections 1 to 3."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..base.errors import InvalidInput
from ..base.values import (
    TOGETHER,
    GroupValue,
    Range,
    Scalar,
    canonical,
    exact_number,
    fold,
    frozen,
    name_value,
    read_number,
)
from .check import BLANK_GROUP, Measurement
from .deployment import Column, FieldType
from .monitor import Comparison, DisplayNames, Monitor, MonitoredAttribute, ValueTest, split_group

Role = Literal["monitored", "reference"]
NamedGroup = tuple[str, Role]
"""Label and role of a group."""

NEITHER = -1
"""Position of a record that is in none of the groups."""

MAX_REFERENCE_VALUES = 100
"""Max values of a reference that is left out: more are one group, without copies."""

MAX_GROUPS_TOGETHER = 1_000
"""Three attributes of 200 would make eight million groups, nearly all of them empty."""


NEAR_TWINS = "near_twins"
MISSPELLED = "misspelled_groups"
"""Members of a check's window."""

MAX_TWINS = 10
"""Near twins of which a sentence is written."""

_VALUE_SEPARATOR = ", "
"""Joins the values of a group in a label."""
_PHRASE_STARTS = (
    "aged ",
    "born ",
    "from ",
    "in ",
    "living ",
    "of ",
    "over ",
    "paid ",
    "under ",
    "with ",
    "without ",
    "working ",
)
"""Begins of display names that need a noun before them, such as `under 26`."""

# A zero-width blank is no blank to Python.
_BLANK_RUN = re.compile("[\\s\u200b\u2060\ufeff]+")

_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧον",  # noqa: RUF001 - Cyrillic and Greek letters that look like Latin ones
    "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXov",
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\ufe0f\ufeff",
)


class EverybodyElse(str):
    """Value of a group of every value that no other group has; a column may hold the same text."""

    __slots__ = ()


EVERYBODY_ELSE = EverybodyElse("everybody else")


@frozen
class NearTwin:
    """A value that looks like another, `original`; if that is listed, it is in no group until listed, too."""

    feature: str
    value: str
    original: str
    is_group: bool = False


def count_twins(
    feature: str, records: Mapping[Any, int], listed: Iterable[GroupValue], observed: Sequence[object] = ()
) -> Counter[NearTwin]:
    """Counts the records of near twins of listed values, and of `observed` groups that look alike."""
    twins = {
        NearTwin(feature, value, original): records[value]
        for value, original in find_twins(records, listed).items()
    }
    twins_among_observed = find_twins(observed, drop_twins(observed))
    return Counter(
        twins
        | {
            NearTwin(feature, value, twins_among_observed[value], is_group=True): records.get(value, 0)
            for value in twins_among_observed
        }
    )


def describe_twins(
    twins: Counter[NearTwin], fate: str = "so it is in no group until it is listed"
) -> list[str]:
    sentences = []
    for twin, count in twins.most_common(MAX_TWINS):
        value = repr(twin.value)
        original = repr(twin.original)
        difference = "by a blank"
        if collapse_blanks(twin.value) != collapse_blanks(twin.original):
            value = ascii(twin.value)
            original = ascii(twin.original)
            difference = "in characters that look alike or cannot be seen"
        end = "and is a group of its own" if twin.is_group else fate
        sentences.append(
            f"{twin.feature!r}: {value} ({count:,} record{'s' * (count > 1)}) differs from "
            f"{original} {difference}, {end}"
        )
    return sentences


def describe_misspelled(attribute: MonitoredAttribute, observed: Collection[Any]) -> list[str]:
    listed = attribute.listed
    spellings = {fold(value): value for value in observed if value not in listed}
    missing = [value for value in listed if value not in observed and fold(value) in spellings]
    return [
        f"{attribute.feature!r}: no record has {value!r}, but records have {spellings[fold(value)]!r}"
        for value in missing
    ]


def drop_twins(values: Iterable[object]) -> list[str]:
    texts = [value for value in values if isinstance(value, str)]
    return list({normalize_look(text): text for text in reversed(texts)}.values())


def find_twins(values: Iterable[object], listed: Iterable[GroupValue]) -> dict[str, str]:
    texts = dict.fromkeys(value for value in listed if isinstance(value, str))
    originals = {normalize_look(text): text for text in texts}
    looks = {
        value: normalize_look(value) for value in values if isinstance(value, str) and value not in texts
    }
    return {value: originals[look] for value, look in looks.items() if look in originals}


def collapse_blanks(text: str) -> str:
    return _BLANK_RUN.sub(" ", text).strip()


def normalize_look(text: str) -> str:
    """Makes texts equal that differ in blanks, invisible characters, forms of a letter, or alphabets only."""
    return collapse_blanks(
        text if text.isascii() else unicodedata.normalize("NFKD", text).translate(_LOOKALIKES)
    )


@frozen
class Group:
    """Group of an attribute: the records with a value, or with one in a range."""

    label: str
    role: Role
    value: GroupValue


def list_groups(
    attribute: MonitoredAttribute,
    column: Column,
    observed: Iterable[Scalar],
    *,
    limit: float = MAX_REFERENCE_VALUES,
) -> tuple[Group, ...]:
    """Lists the groups of an attribute.

    If no reference is listed, it is each value `observed` that is neither monitored nor a near twin; more
    than `limit` of them are one group.
    """
    monitored = tuple(Group(name_value(value), "monitored", value) for value in attribute.monitored)
    if attribute.reference is not None:
        return monitored + tuple(
            Group(name_value(value), "reference", value) for value in attribute.reference
        )
    values = list(observed)
    positioned_values = zip(values, find_group_positions(monitored, column, values), strict=True)
    twins = find_twins(values, attribute.monitored)
    unmonitored = sorted(
        {value for value, position in positioned_values if position == NEITHER and value not in twins},
        key=make_sort_key,
    )
    if len(unmonitored) > limit:
        unmonitored = [EVERYBODY_ELSE]
    return monitored + tuple(Group(name_value(value), "reference", value) for value in unmonitored)


def build_group_test(value: GroupValue, column: Column) -> ValueTest:
    if isinstance(value, Range):
        return ValueTest(ranges=(value,))
    return ValueTest((canonical(convert_spelled_number(value, column)),))


def find_group_positions(groups: Sequence[Group], column: Column, values: Iterable[Scalar]) -> Iterator[int]:
    """Yields the position of each value's first group, else that of everybody else, else NEITHER."""
    tests = [build_group_test(group.value, column) for group in groups]
    else_position = next(
        (index for index, group in enumerate(groups) if isinstance(group.value, EverybodyElse)), NEITHER
    )
    # One look-up for each value: a column may have as many values as records.
    positions_by_text = {text: position for position, test in enumerate(tests) for text in test.texts}
    ranges = [(position, test) for position, test in enumerate(tests) if test.ranges]
    observed = list(values)
    twins = find_twins(observed, [group.value for group in groups]) if else_position != NEITHER else {}
    for value in observed:
        position = positions_by_text.get(canonical(value), NEITHER if value in twins else else_position)
        if ranges and position == NEITHER:
            position = next((index for index, test in ranges if test.passes(value)), NEITHER)
        yield position


def combine_groups(features: Sequence[str], groups: Sequence[Sequence[NamedGroup]]) -> list[NamedGroup]:
    """Combines the groups of several attributes, those of the last attribute changing fastest.

    Only the combination of reference values is a reference, every other is monitored; ` × ` joins the labels.

    Raises:
        InvalidInput: there are too many combinations, or two have one label.
    """
    field = f"intersections.{TOGETHER.join(features)}"
    too_many = describe_too_many(features, [len(attribute_groups) for attribute_groups in groups])
    if len(features) > 1 and too_many:
        raise InvalidInput(
            field,
            f"{too_many}; list fewer values for its attributes, list the reference values where they are "
            "left out, or remove the intersection",
        )
    combinations: list[NamedGroup] = [("", "reference")]
    for attribute_groups in groups:
        combinations = [
            (
                f"{label}{TOGETHER}{added}" if label else added,
                "reference" if {role, added_role} == {"reference"} else "monitored",
            )
            for label, role in combinations
            for added, added_role in attribute_groups
        ]
    labels = [label for label, _ in combinations]
    # Of listed values the rules of monitors refuse this; values merely seen are known only now.
    if len(set(labels)) < len(labels):
        label = next(label for index, label in enumerate(labels) if label in labels[:index])
        raise InvalidInput(
            field,
            f"has two groups called {label!r}, because of values that hold × as a word of its own; list the "
            "reference values of its attributes",
        )
    return combinations


def describe_too_many(features: Sequence[str], counts: Sequence[int]) -> str | None:
    if math.prod(counts) <= MAX_GROUPS_TOGETHER:
        return None
    numbers = " × ".join(f"{count} of {feature}" for count, feature in zip(counts, features, strict=True))
    return f"has {math.prod(counts):,} groups ({numbers}) where at most {MAX_GROUPS_TOGETHER:,} are measured"


def convert_spelled_number(value: Scalar, column: Column) -> Scalar:
    """Converts a value that spells a number, if the column has numbers: whole, or of double precision."""
    read = {FieldType.INTEGER: exact_number, FieldType.NUMBER: read_number}.get(column.type)
    number = None if read is None else read(value)
    return value if number is None else number


def make_sort_key(value: Scalar) -> tuple[float, str]:
    """Makes a sort key: numbers in their order, then texts."""
    number = read_number(value)
    return (float("inf") if number is None else number, canonical(value))


@frozen
class GroupWords:
    """Words for the groups of a monitor: the names that people gave them, else their labels."""

    names: DisplayNames = DisplayNames()
    attributes: tuple[MonitoredAttribute, ...] = ()

    @classmethod
    def of(cls, monitor: Monitor | None) -> "GroupWords":
        return cls() if monitor is None else cls(monitor.names, monitor.attributes)

    @property
    def favourable(self) -> str:
        """Words for getting the favourable outcome, as a verb: `are rated No Risk`."""
        rated = self.names.favourable
        return "get the favourable outcome" if rated is None else f"are {rated}"

    def label(self, attribute: str, group: str) -> str:
        """A group for a table: its display names, or the label as it is; `(blank)` without one."""
        return " ".join(self._find_names(attribute, group)) or group or BLANK_GROUP

    def is_named(self, attribute: str, group: str) -> bool:
        return bool(self._find_names(attribute, group))

    def rename(self, measurement: Measurement) -> Measurement:
        if measurement.attribute is None or not self.names.groups:
            return measurement
        details, names_by_side = measurement.details, {}
        for side in ("subject", "monitored", "reference"):
            group = getattr(details, side)
            names_by_side[side] = group and (self._say_names(measurement.attribute, group) or group)
        return replace(measurement, details=details.changed(**names_by_side))

    def parts(self, attribute: str, group: str) -> tuple[str, ...]:
        """Names or labels of a group by feature; one only, where the label cannot be divided."""
        divided = self._divide(attribute, group)
        return (
            (group,)
            if divided is None
            else tuple(self.names.find(feature, label) or label for feature, label in divided)
        )

    def subject(self, attribute: str, group: str) -> str:
        """A group for a sentence, in the plural: `women under 26`, or `records with sex female`."""
        return self._say_names(attribute, group) or f"records with {self.condition(attribute, group)}"

    def role(self, attribute: str, group: str) -> str:
        """Noun for a record: `women`, or `sex female`."""
        return self._say_names(attribute, group) or self.condition(attribute, group)

    def condition(self, attribute: str, group: str) -> str:
        """Group as a condition: `sex female and age 18-25`."""
        return " and ".join(
            f"{feature} {label or BLANK_GROUP}"
            for feature, label in self._divide(attribute, group) or [(attribute, group)]
        )

    def _say_names(self, attribute: str, group: str) -> str:
        names = self._find_names(attribute, group)
        needs_noun = names and names[0].startswith(_PHRASE_STARTS)
        return " ".join(["people", *names] if needs_noun else names)

    def _find_names(self, attribute: str, group: str) -> Sequence[str]:
        """Finds display names, those that name people first; none unless every part of the label has one."""
        names = self._name_parts(attribute, group)
        if names or _VALUE_SEPARATOR not in group:
            return names
        alternatives = [
            " ".join(self._name_parts(attribute, label)) for label in group.split(_VALUE_SEPARATOR)
        ]
        return [" or ".join(alternatives)] if all(alternatives) else []

    def _name_parts(self, attribute: str, group: str) -> list[str]:
        display_names = [
            self.names.find(feature, label) for feature, label in self._divide(attribute, group) or ()
        ]
        # "Aged 18–25 women" is no English, whichever attribute comes first.
        names = sorted(
            (name for name in display_names if name is not None),
            key=lambda name: name.startswith(_PHRASE_STARTS),
        )
        return names if len(names) == len(display_names) else []

    def _divide(self, attribute: str, group: str) -> list[tuple[str, str]] | None:
        """Divides a label by feature; None where it cannot be divided, or in several ways."""
        features = Comparison.from_label(attribute).features
        if len(features) == 1:
            return [(features[0], group)]
        attributes_by_feature = {attribute.feature: attribute for attribute in self.attributes}
        # The monitor may have changed since the check that named the group.
        divisions = [tuple(group.split(TOGETHER))]
        if all(feature in attributes_by_feature for feature in features):
            divisions = split_group(group, [attributes_by_feature[feature] for feature in features])
        # Divided in two ways, the label would name other people.
        [labels, *others] = divisions or [()]
        return None if others or len(labels) != len(features) else list(zip(features, labels, strict=True))
