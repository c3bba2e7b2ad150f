"""A rule that describes a group puts the same records into it as the scan that found it."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from app.domain.deployment import Column, FieldKind, FieldType, RecordSchema
from app.domain.group_rules import ALL_OTHERS, Condition, GroupRule, NumberInterval
from app.domain.monitor import MonitoredAttribute
from app.domain.ruled_attributes import find_rule_problems
from app.evidence.subgroups.scan_deployment import count_values, encode_column
from app.sources.arrays.read_records import is_in_group, read_attribute
from app.statistics.scan.scan_results import Bins

AGE = Column(name="age", type=FieldType.NUMBER, kind=FieldKind.NUMERIC)
REGION = Column(name="region", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
SCHEMA = RecordSchema(version=1, features=(AGE, REGION))

numbers = st.lists(st.none() | st.floats(-50, 50) | st.integers(-3, 3).map(float), min_size=1, max_size=200)
texts = st.lists(st.none() | st.sampled_from(["north", "south", "", "01", "1", "1.0", "true", "ä"]), min_size=1, max_size=200)


def column(values: Sequence[object], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def assert_same(values: pa.ChunkedArray, places: set[int]) -> None:
    """The condition on the positions is met by the records at these positions, in arrays and one by one."""
    bins = Bins.choose("column", count_values([values]))
    places &= set(range(bins.missing + 1))
    condition = bins.describe(sorted(places))
    expected = np.isin(encode_column(bins, values), sorted(places)).tolist()

    assert is_in_group(GroupRule(((condition,),)), pa.table({"column": values})).tolist() == expected
    assert [condition.is_met_by(value) for value in values.to_pylist()] == expected


@given(numbers, st.sets(st.integers(0, 10)))
def test_a_condition_on_numbers_is_met_by_the_records_of_the_bins_that_it_describes(values: list[float | None], places: set[int]) -> None:
    assert_same(column(values, pa.float64()), places)


@given(texts, st.sets(st.integers(0, 10)))
def test_a_condition_on_texts_is_met_by_the_records_of_the_values_that_it_describes(values: list[str | None], places: set[int]) -> None:
    assert_same(column(values, pa.string()), places)


def test_a_record_is_in_a_union_if_it_meets_every_condition_of_one_of_its_lists() -> None:
    young = Condition(feature="age", intervals=(NumberInterval(up_to=33.0),))
    northern, unknown = Condition(feature="region", values=("north",)), Condition(feature="region", or_missing=True)
    rule = GroupRule(((young, northern), (unknown,)))
    records = {"age": [33.0, 33.5, 20.0, None, None], "region": ["north", "north", "south", "north", None]}
    values = pa.table({"age": column(records["age"], pa.float64()), "region": column(records["region"], pa.string())})
    attribute = MonitoredAttribute.of_rule("the young of the north", rule)

    label = "age up to 33 and region north, or region no value"
    assert read_attribute(attribute, values).to_pylist() == [label, ALL_OTHERS, ALL_OTHERS, ALL_OTHERS, label]
    assert [rule.is_met_by({"age": age, "region": region}) for age, region in zip(*records.values(), strict=True)] == [
        *(True, False, False, False, True)
    ]
    assert attribute.columns == ("age", "region")


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (
            Condition(feature="age", intervals=(NumberInterval(above=1.5, up_to=3.0), NumberInterval(above=9.0))),
            "age above 1.5 to 3 or above 9",
        ),
        (Condition(feature="region", excluded=("north", "south")), "region not north or south"),
        (Condition(feature="region", excluded=()), "region any value"),
        (Condition(feature="region", values=tuple("abcdefg")), "region a or b or c or d or e or one of 2 more"),
    ],
)
def test_a_condition_says_what_it_asks(condition: Condition, words: str) -> None:
    assert condition.words == words


def problems(*conditions: Condition, name: str = "a group") -> list[tuple[str, str]]:
    attribute = MonitoredAttribute.of_rule(name, GroupRule((conditions,)))
    return [(problem.field, problem.message) for problem in find_rule_problems("attributes[0]", attribute, SCHEMA)]


def test_a_rule_is_refused_by_the_place_of_what_is_wrong(snapshot: SnapshotAssertion) -> None:
    north = Condition(feature="region", values=("north",))
    first = "attributes[0].rule.any_of[0]"

    assert problems(north) == []
    backwards = (NumberInterval(), NumberInterval(above=2.0, up_to=1.0))
    refused = {
        "attributes[0].feature": problems(north, name="age"),
        first: problems(),
        f"{first}[1].feature": problems(north, north),
        f"{first}[0].feature": problems(Condition(feature="zip", values=(1,))),
        f"{first}[0].intervals": problems(Condition(feature="region", intervals=(NumberInterval(up_to=1.0),))),
        f"{first}[0].intervals[0]": problems(Condition(feature="age", intervals=backwards))[:1],
        f"{first}[0].intervals[1]": problems(Condition(feature="age", intervals=backwards))[1:],
        f"{first}[0]": problems(Condition(feature="region")) + problems(Condition(feature="region", values=("a",), excluded=("b",))),
    }
    assert all({field for field, _ in refusals} == {place} for place, refusals in refused.items())
    assert refused == snapshot
    assert problems(Condition(feature="region", values=("",))) == [(f"{first}[0].values[0]", "must not be blank")]
