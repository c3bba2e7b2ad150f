"""The groups of an attribute, and which of them a value belongs to. Source: spec of the fairness check, sections 1 to 3."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from app.domain.deployments import Column, FieldType
from app.domain.monitor_rules import MAX_GROUPS_TOGETHER
from app.domain.monitors import MonitoredAttribute
from app.domain.texts import TOGETHER
from app.domain.values import GroupValue, Range, Scalar, canonical, exact_number, label_of, number_of
from app.errors import InvalidInput

Role: TypeAlias = Literal["monitored", "reference"]
NamedGroup: TypeAlias = tuple[str, Role]
"""A group's label and role, as the count tables want them."""

NEITHER = -1
"""The position of a value that is in no group."""

MOST_REFERENCE_VALUES = 100
"""With `reference` left out every other value seen is one; beyond this many, copies would outnumber the records a hundredfold."""


@dataclass(frozen=True, slots=True)
class Group:
    """One monitored or reference value of an attribute."""

    label: str
    role: Role
    value: GroupValue


def groups_of(attribute: MonitoredAttribute, column: Column, seen: Iterable[Scalar], *, seen_in: str) -> tuple[Group, ...]:
    """The attribute's groups; `seen` are the column's values, of which those not monitored are reference where none is listed.

    Raises:
        InvalidInput: `reference` is left out and too many other values were seen. `seen_in` says where.
    """
    monitored = tuple(Group(label_of(value), "monitored", value) for value in attribute.monitored)
    if attribute.reference is not None:
        return monitored + tuple(Group(label_of(value), "reference", value) for value in attribute.reference)
    values = list(seen)
    placed = zip(values, positions(monitored, column, values), strict=True)
    others = sorted({value for value, position in placed if position == NEITHER}, key=in_order)
    if len(others) > MOST_REFERENCE_VALUES:
        raise InvalidInput.of(
            f"attributes.{attribute.feature}.reference",
            f"was left out, and {seen_in} holds {len(others)} other values of {column.name} where at most {MOST_REFERENCE_VALUES} are"
            " expected; list the reference values",
        )
    return monitored + tuple(Group(label_of(value), "reference", value) for value in others)


def positions(groups: Sequence[Group], column: Column, values: Iterable[Scalar]) -> Iterator[int]:
    """Where in `groups` each of the column's values is, or NEITHER."""
    ranges = [(position, group.value) for position, group in enumerate(groups) if isinstance(group.value, Range)]
    of_text = {
        canonical(typed(group.value, column)): position for position, group in enumerate(groups) if not isinstance(group.value, Range)
    }
    for value in values:
        position = of_text.get(canonical(value), NEITHER)
        number = number_of(value) if ranges and position == NEITHER else None
        if number is not None:
            position = next((place for place, bounds in ranges if number in bounds), NEITHER)
        yield position


def together(features: Sequence[str], groups: Sequence[Sequence[NamedGroup]]) -> list[NamedGroup]:
    """The combinations of several attributes' groups, the last attribute's changing fastest.

    The combination of nothing but reference values is reference, every other is monitored; labels are joined by ` × `.

    Raises:
        InvalidInput: there are too many combinations, or two have one label.
    """
    _refuse_many(features, [len(of_one) for of_one in groups])
    named: list[NamedGroup] = [("", "reference")]
    for of_one in groups:
        named = [
            (f"{label}{TOGETHER}{added}" if label else added, "reference" if {role, added_role} == {"reference"} else "monitored")
            for label, role in named
            for added, added_role in of_one
        ]
    _refuse_ambiguous(features, [label for label, _ in named])
    return named


def typed(value: Scalar, column: Column) -> Scalar:
    """A value, stored or configured, as its column holds it: text that spells a number is one, whole or of double precision."""
    number = None
    if column.type is FieldType.INTEGER:
        number = exact_number(value)
    elif column.type is FieldType.NUMBER:
        number = number_of(value)
    return value if number is None else number


def in_order(value: Scalar) -> tuple[float, str]:
    """By what values are sorted: numbers by size, then texts."""
    number = number_of(value)
    return (float("inf") if number is None else number, canonical(value))


def _refuse_many(features: Sequence[str], counts: Sequence[int]) -> None:
    # The groups of one attribute by itself are limited by its lists.
    if len(counts) > 1 and prod(counts) > MAX_GROUPS_TOGETHER:
        each = " × ".join(f"{count} of {feature}" for count, feature in zip(counts, features, strict=True))
        raise InvalidInput.of(
            _place(features),
            f"has {prod(counts):,} groups ({each}) where at most {MAX_GROUPS_TOGETHER:,} are measured; list fewer values for its"
            " attributes, list the reference values where they are left out, or remove the intersection",
        )


def _refuse_ambiguous(features: Sequence[str], labels: list[str]) -> None:
    # Listed values cannot hold the sign that joins; values that were merely seen can.
    if len(set(labels)) < len(labels):
        label = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise InvalidInput.of(
            _place(features),
            f"has two groups called {label!r}, because of values that hold × as a word of its own; list the reference values of its"
            " attributes",
        )


def _place(features: Sequence[str]) -> str:
    return f"intersections.{TOGETHER.join(features)}"
