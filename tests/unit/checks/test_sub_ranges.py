"""Ranges cut into intervals at round numbers, and the records counted in them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.values import Range
from app.checks.counting.sub_ranges import SUB_RANGES, TYPICAL_INTERVALS, SubRanges, count_sub_ranges, cut_range, merge_sub_ranges
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from app.sources.arrays.read_records import group_records

ENDS = st.floats(allow_nan=False, allow_infinity=False)


def labels(lo: float, hi: float, *, is_whole: bool = True) -> list[str]:
    edges = cut_range(Range(lo, hi), is_whole=is_whole)
    return SubRanges("g", is_whole, edges, np.zeros((len(edges) - 1, 3), np.int64)).labels


def counted(kind: FieldType, ranges: list[Range], values: list[float | None], outcomes: list[int]) -> dict[str, SubRanges]:
    attribute = MonitoredAttribute(feature="age", monitored=(ranges[0],), reference=tuple(ranges[1:]))
    numbers = pa.chunked_array([pa.array(values, pa.float64())])
    grouping = group_records(attribute, Column(name="age", type=kind, kind=FieldKind.NUMERIC), numbers)
    everybody = np.ones(len(values), dtype=np.bool_)
    return merge_sub_ranges([count_sub_ranges(grouping, numbers, np.array(outcomes, dtype=np.int64), everybody)])


@pytest.mark.parametrize(
    ("lo", "hi", "expected"),
    [
        (18, 25, ["18-19", "20-21", "22-23", "24-25"]),
        (26, 75, ["26-29", "30-39", "40-49", "50-59", "60-69", "70-75"]),
        (18, 24, ["18-19", "20-21", "22-24"]),
        (0, 200_000, ["0-49999", "50000-99999", "100000-149999", "150000-200000"]),
        (1, 4, ["1", "2", "3", "4"]),
        (17.5, 20.5, ["18", "19", "20"]),
        (-2, 0, ["-2", "-1", "0"]),
        (5, 5, ["5"]),
    ],
)
def test_a_range_of_whole_numbers_is_cut_at_round_numbers(lo: float, hi: float, expected: list[str]) -> None:
    assert labels(lo, hi) == expected


def test_intervals_of_other_numbers_say_that_their_upper_end_belongs_to_the_next() -> None:
    assert labels(0, 0.5, is_whole=False) == ["0 to <0.1", "0.1 to <0.2", "0.2 to <0.3", "0.3 to <0.4", "0.4 to 0.5"]


@given(ENDS, ENDS, st.booleans())
def test_edges_rise_from_end_to_end_and_are_few_whatever_the_range(one: float, other: float, is_whole: bool) -> None:  # noqa: FBT001 - drawn
    lo, hi = min(one, other), max(one, other)
    edges = cut_range(Range(lo, hi), is_whole=is_whole)

    assert len(edges) - 1 <= TYPICAL_INTERVALS + 1
    if lo <= edges[0] <= edges[-1] <= hi:
        assert list(edges) == sorted(edges)
        assert len(set(edges[:-1])) == len(edges) - 1
    else:
        assert is_whole
        assert edges[0] > edges[-1]


@given(st.lists(st.tuples(st.integers(15, 80), st.integers(0, 2)), max_size=60))
def test_every_record_of_a_range_is_counted_in_the_interval_that_its_label_names(people: list[tuple[int, int]]) -> None:
    found = counted(FieldType.INTEGER, [Range(18, 25), Range(26, 75)], [float(age) for age, _ in people], [code for _, code in people])

    for ranges in found.values():
        for label, counts in zip(ranges.labels, ranges.counts.tolist(), strict=True):
            low, high = map(int, label.split("-"))
            assert counts == [sum(low <= age <= high and code == outcome for age, code in people) for outcome in range(3)]


def test_the_ends_of_a_range_belong_to_it_and_a_missing_value_to_nothing() -> None:
    found = counted(FieldType.NUMBER, [Range(0, 1), Range(2, 3)], [0.0, 1.0, 0.2, None, 1.5, 3.0], [1, 1, 0, 1, 1, 2])

    assert found["0-1"].counts.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert found["2-3"].counts.sum() == 1


def test_a_range_that_is_too_narrow_to_cut_and_single_values_have_no_intervals() -> None:
    assert counted(FieldType.INTEGER, [Range(5, 5), Range(6, 7)], [5.0, 6.0], [1, 1]).keys() == {"6-7"}
    attribute = MonitoredAttribute(feature="age", monitored=(30,), reference=(40,))
    numbers = pa.chunked_array([pa.array([30.0, 40.0])])
    grouping = group_records(attribute, Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC), numbers)
    assert count_sub_ranges(grouping, numbers, np.array([1, 0]), np.array([True, True])) == {}


def test_parts_of_a_window_add_up_and_tables_without_intervals_say_nothing() -> None:
    one = counted(FieldType.INTEGER, [Range(18, 25), Range(26, 75)], [19.0, 30.0], [1, 0])
    stored = {SUB_RANGES: [ranges.to_json() for ranges in one.values()]}

    assert merge_sub_ranges([stored, stored])["18-25"].counts.tolist() == (2 * one["18-25"].counts).tolist()
    assert merge_sub_ranges([{"groups": []}]) == {}
