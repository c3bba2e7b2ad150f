"""A comparison is known by its features; its label is read in one place."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.values import joining_problem
from app.domain.monitor import (
    MAX_DIVISIONS,
    Comparison,
    Monitor,
    MonitoredAttribute,
    OutcomeRule,
    find_comparison,
    list_comparisons,
    split_group,
)

SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
REGION = MonitoredAttribute(feature="region", monitored=("north",))
MONITOR = Monitor(outcomes=OutcomeRule((1,), (0,)), attributes=(SEX, REGION), intersections=(("region", "sex"),))


def test_a_monitor_compares_each_attribute_and_then_its_intersections() -> None:
    assert [comparison.features for comparison in list_comparisons(MONITOR)] == [("sex",), ("region",), ("region", "sex")]
    assert [comparison.members(MONITOR) for comparison in list_comparisons(MONITOR)] == [[SEX], [REGION], [REGION, SEX]]


@pytest.mark.parametrize("label", ["sex", "region × sex"])
def test_a_comparison_is_found_by_its_label(label: str) -> None:
    found = find_comparison(MONITOR, label)

    assert found == Comparison.from_label(label)
    assert found is not None
    assert found.label == label


@pytest.mark.parametrize("label", ["sex × region", "age", "", "region × "])
def test_what_the_monitor_does_not_compare_is_not_found(label: str) -> None:
    assert find_comparison(MONITOR, label) is None


@given(
    names=st.lists(
        st.lists(st.sampled_from(["a", "b", "× b", "c d", "a×", ""]), min_size=1, max_size=4).map(" × ".join), max_size=6, unique=True
    )
)
def test_a_label_is_divided_in_one_way_only_by_the_names_that_a_deployment_may_have(names: list[str]) -> None:
    allowed = [name for name in names if name and joining_problem(name, names) is None]

    for features in (one for size in (1, 2, 3) for one in permutations(allowed, size)):
        assert Comparison.from_label(Comparison(features).label, allowed) == Comparison(features)


def test_everybody_is_the_comparison_of_nothing() -> None:
    assert Comparison.from_label("") == Comparison(())
    assert not Comparison(()).is_combination


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("north × male", ("north", "male")),
        ("north × south × male", ("north × south", "male")),
        ("male", None),
        ("north × men", None),
        ("north × male × x", None),
    ],
)
def test_the_label_of_a_combination_is_divided_where_every_part_can_be_a_group(label: str, parts: tuple[str, ...] | None) -> None:
    assert split_group(label, [REGION, SEX]) == ([] if parts is None else [parts])


def test_a_label_may_be_divided_in_several_ways_but_not_in_any_number() -> None:
    other = MonitoredAttribute(feature="place", monitored=("here",))

    assert split_group("a × b × c", [REGION, other]) == [("a", "b × c"), ("a × b", "c")]
    assert len(split_group(" × ".join("abcdefgh" * 20), [REGION, other])) == MAX_DIVISIONS
