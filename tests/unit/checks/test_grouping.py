from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.base.values import GroupValue, Range
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from app.sources.arrays.read_records import Group, Grouping, combine_groupings, convert_to_type, group_records
from app.statistics.group_labels import NEITHER
from tests.builders.page_words import says

BEYOND = 2**53 + 1
"""No float is this number."""


def column(kind: FieldType, name: str = "code") -> Column:
    return Column(name=name, type=kind, kind=FieldKind.CATEGORICAL)


def codes(kind: FieldType, monitored: tuple[GroupValue, ...], reference: tuple[GroupValue, ...] | None, *texts: str | None) -> list[int]:
    attribute = MonitoredAttribute(feature="code", monitored=monitored, reference=reference)
    found: list[int] = group_records(attribute, column(kind), pa.chunked_array([pa.array(texts, pa.string())])).codes.tolist()
    return found


def grouping(name: str, *labels: str) -> Grouping:
    """Groups of those labels, the last one reference; one record in the first."""
    roles: list[Literal["monitored", "reference"]] = [*(["monitored"] * (len(labels) - 1)), "reference"]  # type: ignore[list-item]
    groups = tuple(Group(label, role, label) for label, role in zip(labels, roles, strict=True))
    return Grouping(column(FieldType.STRING, name), groups, np.zeros(1, dtype=np.int64))


def test_whole_numbers_beyond_double_precision_are_in_their_own_group() -> None:
    assert codes(FieldType.INTEGER, (BEYOND,), (BEYOND - 1,), str(BEYOND), str(BEYOND - 1), str(BEYOND + 1)) == [0, 1, NEITHER]
    assert codes(FieldType.INTEGER, (BEYOND,), None, str(BEYOND), str(BEYOND - 1), None) == [0, 1, NEITHER]
    assert convert_to_type(BEYOND, FieldType.INTEGER) == BEYOND


def test_the_text_of_an_integer_column_may_have_an_empty_fraction() -> None:
    assert codes(FieldType.INTEGER, (3,), (4.0,), "3.0", "3", "4") == [0, 0, 1]
    assert convert_to_type("3.0", FieldType.INTEGER) == 3


def test_small_and_great_numbers_are_found_as_postgres_writes_them() -> None:
    assert codes(FieldType.NUMBER, (1e-05,), (1e16,), "0.00001", "10000000000000000") == [0, 1]
    assert codes(FieldType.NUMBER, (2**60,), (1.5,), "1152921504606847000", "1.50") == [0, 1]


def test_the_first_range_that_holds_a_number_is_its_group() -> None:
    attribute = MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
    ages = pa.chunked_array([pa.array([18.0, 25.0, 25.5, 26.0, None])])

    found = group_records(attribute, Column(name="age", type=FieldType.NUMBER, kind=FieldKind.NUMERIC), ages)

    assert found.codes.tolist() == [0, 0, NEITHER, 1, NEITHER]


@pytest.mark.parametrize("kind", [FieldType.STRING, FieldType.INTEGER, FieldType.NUMBER])
def test_more_than_100_other_values_are_one_group(kind: FieldType) -> None:
    attribute, texts = (
        MonitoredAttribute(feature="code", monitored=(7, 8) if kind is not FieldType.STRING else ("7", "8")),
        map(str, range(400)),
    )

    found = group_records(attribute, column(kind), pa.chunked_array([pa.array([*texts, None], pa.string())]))

    assert [(group.label, group.role) for group in found.groups] == [
        ("7", "monitored"),
        ("8", "monitored"),
        ("everybody else", "reference"),
    ]
    assert np.bincount(found.codes + 1).tolist() == [1, 1, 1, 398]
    assert found.codes[-1] == NEITHER


def test_100_other_values_are_a_group_each() -> None:
    attribute = MonitoredAttribute(feature="code", monitored=("0",))

    assert len(group_records(attribute, column(FieldType.STRING), pa.chunked_array([list(map(str, range(101)))])).groups) == 101


def test_too_many_groups_together_are_refused_with_their_counts(snapshot: SnapshotAssertion) -> None:
    many = [grouping(name, *(f"{name}{no}" for no in range(40))) for name in ("sex", "race")]

    with pytest.raises(InvalidInput) as refused:
        combine_groupings(many)

    problem = refused.value.problems[0]
    assert problem.field == "intersections.sex × race"
    assert says(problem.message, "1,600", "40", "sex × 40", "race", "1,000", "fewer")
    assert problem.message == snapshot


def test_groups_that_would_be_called_alike_are_refused_with_their_name() -> None:
    # Values that were merely seen: the reference is left out.
    left, right = grouping("x", "a × b", "a"), grouping("y", "c", "b × c")

    with pytest.raises(InvalidInput, match="has two groups called 'a × b × c'"):
        combine_groupings([left, right])


def test_a_thousand_groups_together_are_measured() -> None:
    named, _ = combine_groupings([grouping("x", *map(str, range(40))), grouping("y", *map(str, range(25)))])

    assert len(named) == 1_000
