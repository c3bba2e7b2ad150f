"""Subgroups of a DataFrame that nobody listed."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.errors import InvalidInput
from app.evidence.nulls import UnfairSide
from app.frames.binning import MAX_VALUES, MISSING, REST, bin_feature
from app.frames.groups import CandidateState, find_groups
from tests.builders.planted_log import START, log

COLUMNS: dict[str, Any] = {"features": ["age", "region", "job"], "time": "at", "prediction": "approved", "favourable": "yes"}


def test_a_planted_subgroup_is_found_and_confirmed_on_later_hours() -> None:
    found = find_groups(log(), scan_hours=48, **COLUMNS)
    first = found.groups[0]

    assert (first.number, first.state) == (1, CandidateState.CONFIRMED)
    assert set(first.labels) == {"age", "region"}
    assert first.labels["region"] == ("north",)
    assert first.found_at == START + pd.Timedelta(hours=48)
    assert first.confirmed_at is not None
    assert first.found_at < first.confirmed_at
    assert first.rate < 0.6 * first.others_rate
    assert (found.scans, found.subsets) == (3, 15 * 7 * 3)


@pytest.mark.nightly
def test_a_favoured_subgroup_is_found_and_confirmed_in_the_direction_above() -> None:
    frame = log(ratio=1.8)
    above, below = (find_groups(frame, scan_hours=48, direction=direction, **COLUMNS) for direction in ("above", "below"))
    first = above.groups[0]

    assert (above.limit, above.direction, first.state) == (1.25, UnfairSide.ABOVE, CandidateState.CONFIRMED)
    assert set(first.labels) == {"age", "region"}
    assert first.rate > 1.4 * first.others_rate
    assert all(one.state is not CandidateState.CONFIRMED for one in below.groups)


@pytest.mark.parametrize(("given", "field"), [({"direction": "up"}, "direction"), ({"direction": "above", "limit": 0.8}, "limit")])
def test_a_direction_and_a_limit_on_its_other_side_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        find_groups(log(48), **COLUMNS, **given)

    assert [one.field for one in refused.value.problems] == [field]


def test_the_scan_of_the_last_hour_leaves_a_candidate_only() -> None:
    found = find_groups(log(48), scan_hours=48, **COLUMNS)

    assert [one.state for one in found.groups] == [CandidateState.CANDIDATE]
    assert found.groups[0].evidence == 1
    assert found.groups[0].confirmed_at is None


@pytest.mark.nightly
def test_a_subgroup_that_recovers_after_the_scan_is_not_confirmed_and_expires() -> None:
    found = find_groups(log(800, until=40, records=30), scan_hours=40, **COLUMNS).groups[0]

    assert found.state is CandidateState.EXPIRED
    assert found.confirmed_at is None


@pytest.mark.nightly
def test_a_world_without_subgroups_has_no_confirmed_one() -> None:
    for seed in range(5):
        found = find_groups(log(96, ratio=1.0, seed=seed), scan_hours=48, **COLUMNS)

        assert all(one.state is not CandidateState.CONFIRMED for one in found.groups)


@pytest.mark.nightly
def test_within_strata_their_own_difference_is_no_subgroup() -> None:
    frame = log(96, ratio=1.0)
    rng = np.random.default_rng(2)
    frame["approved"] = np.where(rng.random(len(frame)) < np.where(frame["region"] == "north", 0.25, 0.5), "yes", "no")

    assert find_groups(frame, scan_hours=48, **COLUMNS).groups[0].labels == {"region": ("north",)}
    assert find_groups(frame, scan_hours=48, strata="region", **COLUMNS).groups == ()


def test_only_the_first_record_of_a_person_counts() -> None:
    frame = log(60).assign(person=lambda one: np.arange(len(one)) // 2)

    assert find_groups(frame, person="person", **COLUMNS).records == len(frame) // 2


def test_numbers_are_divided_into_four_ranges_and_rare_values_put_together() -> None:
    rng = np.random.default_rng(3)
    seen = np.arange(1000) < 500
    numbers = pd.Series([*rng.integers(0, 100, 999), None], name="age")
    feature = bin_feature(numbers, seen)
    sizes = np.bincount(feature.codes[seen])

    assert len(feature.labels) == 5
    assert feature.labels[-1] == MISSING
    assert feature.labels[0].startswith("up to ")
    assert sizes[:4].min() > 90

    words = pd.Series([f"town {one}" for one in rng.geometric(0.1, 1000)], name="town")
    feature = bin_feature(words, seen)
    assert len(feature.labels) <= MAX_VALUES
    assert REST in feature.labels
    assert np.bincount(feature.codes[seen]).min() >= 10


def test_numbers_most_of_which_are_equal_still_make_two_ranges() -> None:
    feature = bin_feature(pd.Series([*range(20), *[99] * 500], name="x"), np.ones(520, dtype=np.bool_))

    assert feature.labels == ("up to 19", "above 19")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"features": []}, "features"),
        ({"features": ["age", "age"]}, "features"),
        ({"features": "colour"}, "features"),
        ({"features": 3}, "features"),
        ({"time": "nobody"}, "time"),
        ({"prediction": None}, "prediction"),
        ({"limit": 1}, "limit"),
        ({"scan_hours": 0}, "scan_hours"),
        ({"strata": "at"}, "strata"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        find_groups(log(60), **(COLUMNS | change))

    assert refused.value.problems[0].field == field
