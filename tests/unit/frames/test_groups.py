"""Subgroups of a DataFrame that nobody listed."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.domain.group_rules import Condition
from app.library.unlisted_groups import bin_feature, find_groups
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.scan.scan_results import MAX_VALUES, ScannedSubgroup, SearchResult
from tests.builders.planted_log import log

COLUMNS: dict[str, Any] = {"features": ["age", "region", "job"], "prediction": "approved", "favourable": "yes"}


def search(frame: pd.DataFrame, **options: str) -> SearchResult:
    return find_groups(frame, **(COLUMNS | options)).result


def group_of(found: SearchResult) -> ScannedSubgroup:
    assert found.group is not None
    return found.group


def test_a_planted_subgroup_is_found_as_a_rule() -> None:
    frame = log()
    found = search(frame)
    group = group_of(found)
    inside = frame.apply(lambda record: group.rule.is_met_by(record.to_dict()), axis=1)

    assert group.rule.features == ("age", "region")
    assert group.rule.any_of[0][1] == Condition(feature="region", values=("north",))
    assert group.rate < 0.6 * group.others_rate
    assert (found.features, found.subsets, found.records) == (("age", "region", "job"), 15 * 7 * 3, len(frame))
    assert found.p_value == 0.005
    assert (group.records, group.favourable) == (inside.sum(), (frame["approved"][inside] == "yes").sum())
    assert (group.others_records, group.others_favourable) == ((~inside).sum(), (frame["approved"][~inside] == "yes").sum())


@pytest.mark.nightly
def test_a_favoured_subgroup_is_found_in_the_direction_above() -> None:
    frame = log(ratio=1.8)
    above, below = (search(frame, direction=direction) for direction in ("above", "below"))

    assert above.direction is UnfairSide.ABOVE
    assert group_of(above).rule.features == ("age", "region")
    assert group_of(above).rate > 1.4 * group_of(above).others_rate
    assert below.group is None or below.group.rule != group_of(above).rule


@pytest.mark.nightly
def test_within_strata_their_own_difference_is_no_subgroup() -> None:
    frame = log(96, ratio=1.0)
    rng = np.random.default_rng(2)
    frame["approved"] = np.where(rng.random(len(frame)) < np.where(frame["region"] == "north", 0.25, 0.5), "yes", "no")

    assert group_of(search(frame)).rule.label == "region north"
    assert search(frame, strata="region").group is None


def test_only_the_first_record_of_a_person_counts() -> None:
    frame = log(60).assign(person=lambda one: np.arange(len(one)) // 2)
    frame.loc[frame.index % 2 == 1, "approved"] = "yes"
    in_order, by_time = search(frame, person="person"), search(frame[::-1], person="person", time="at")

    assert in_order.records == by_time.records == len(frame) // 2
    assert in_order.favourable == (frame["approved"][::2] == "yes").sum()


def test_numbers_are_divided_into_four_ranges_and_rare_values_put_together() -> None:
    rng = np.random.default_rng(3)
    seen = np.arange(1000) < 500
    numbers = pd.Series([*rng.integers(0, 100, 999), None], name="age")
    bins, codes = bin_feature(numbers, seen)
    sizes = np.bincount(codes[seen])

    assert (len(bins.edges), bins.missing) == (3, 4)
    assert codes[-1] == bins.missing
    assert sizes[:4].min() > 90

    words = pd.Series([f"town {one}" for one in rng.geometric(0.1, 1000)], name="town")
    bins, codes = bin_feature(words, seen)
    assert bins.missing + 1 <= MAX_VALUES
    assert np.bincount(codes[seen])[: len(bins.kept)].min() >= 10


def test_numbers_most_of_which_are_equal_still_make_two_ranges() -> None:
    bins, _ = bin_feature(pd.Series([*range(20), *[99] * 500], name="x"), np.ones(520, dtype=np.bool_))

    assert bins.edges == (19,)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"features": []}, "features"),
        ({"features": ["age", "age"]}, "features"),
        ({"features": "colour"}, "features"),
        ({"features": 3}, "features"),
        ({"time": "nobody"}, "time"),
        ({"prediction": None}, "prediction"),
        ({"direction": "up"}, "direction"),
        ({"strata": "at"}, "strata"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        find_groups(log(60), **(COLUMNS | change))

    assert [problem.field for problem in refused.value.problems] == [field]


def test_too_few_records_are_refused() -> None:
    with pytest.raises(InvalidInput, match="has 19 records that count, and a scan needs 20"):
        find_groups(log(60)[:19], **COLUMNS)
