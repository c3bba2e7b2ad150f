"""The left-out line: which records a figure counts, which are left out, and why."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.group_labels import IntArray, build_groups
from app.statistics.intervals.rate_estimates import Share
from app.statistics.measures.measure_rates import measure_significance
from app.statistics.sentences.left_out import MIN_DIFFERENCE, REASONS, CountedRecords, count_records
from tests.golden import golden

GROUPS = build_groups([("women", "monitored"), ("men", "reference")])


def cells(women: int = 0, men: int = 0, nobody: int = 0) -> IntArray:
    """Records of each group and of none, all of an outcome in neither list."""
    return np.array([[0, 0, women], [0, 0, men], [0, 0, nobody]])


def counted(women: int, men: int, favourable: tuple[int, int] = (0, 0), **left_out: IntArray) -> CountedRecords:
    counts = np.array([[women - favourable[0], favourable[0], 0], [men - favourable[1], favourable[1], 0], [0, 0, 0]])
    return CountedRecords(attribute="sex", groups=GROUPS, counts=counts, left_out=left_out, words={"newest": "10,000"})


@pytest.fixture(scope="module")
def right() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(golden("A7_whole_decision.json").read_text())["D_left_out"]
    return found


def test_the_line_and_the_caution_are_those_of_the_golden_values(right: dict[str, Any]) -> None:
    found = counted(
        right["counted"]["women"],
        right["counted"]["men"],
        (right["favourable"]["women"], right["favourable"]["men"]),
        **{
            reason["reason"]: cells(groups.get("women", 0), groups.get("men", 0), groups.get("unknown", 0) + groups.get("in_no_group", 0))
            for reason in right["reasons"]
            for groups in (reason["groups"],)
        },
    )
    (caution,) = found.cautions()
    expected = right["caution"]
    written = found.to_json()

    assert found.of == right["M"]
    assert found.text == right["text"]
    assert [(cause["reason"], cause["count"]) for cause in written["left_out"]] == [
        (reason["reason"], reason["count"]) for reason in right["reasons"]
    ]
    assert (caution["left_out"], caution["of"]) == (list(expected["left_out"].values()), list(expected["of"].values()))
    assert caution["p"] == pytest.approx(expected["p"], rel=1e-12)
    assert (caution["ratio_low"], caution["ratio_high"]) == pytest.approx((expected["ratio_low"], expected["ratio_high"]), rel=1e-14)
    assert caution["text"] == expected["text"] == written["cautions"][0]["text"]

    named = found.named(lambda attribute, group: {"women": "women of 2026"}.get(group, group) if attribute == "sex" else "")
    assert named.text == right["text"].replace("women", "women of 2026")
    assert [one["text"] for one in named.cautions()] == [expected["text"].replace("women", "women of 2026")]
    texts = {"text": None, "cautions": None}
    assert named.to_json() | texts == written | texts


def test_the_test_of_two_shares_is_that_of_the_golden_values(right: dict[str, Any]) -> None:
    for test in right["tests"]:
        shares = [Share(count=count, total=total, original=total) for count, total in zip(test["left_out"], test["of"], strict=True)]

        assert measure_significance(*shares, pairs=1).p_value == pytest.approx(test["p"], rel=1e-12)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (counted(0, 0), "No records."),
        (counted(1, 0), "The one record is counted."),
        (counted(1_000, 500), "All 1,500 records counted."),
        (counted(0, 0, no_prediction=cells(1)), "0 of 1 records counted; left out: no prediction 1 (women 1)."),
        (counted(1, 1, no_prediction=cells(nobody=2)), "2 of 4 records counted; left out: no prediction 2."),
        (counted(1, 1, not_a_number=cells(nobody=3)), "2 of 5 records counted; left out: sex is not a number 3."),
        (counted(1, 1, no_label=cells(), in_no_group=cells(nobody=1)), "2 of 3 records counted; left out: sex in no group 1."),
    ],
)
def test_the_line_says_how_many_are_counted_and_why_others_are_not(found: CountedRecords, text: str) -> None:
    assert found.text == text


def test_a_caution_needs_a_difference_that_is_sure_and_large() -> None:
    assert not list(counted(9_000, 90_000, no_prediction=cells(150, 90)).cautions()), "1.6 points apart"
    assert not list(counted(190, 195, no_prediction=cells(10, 5)).cautions()), "p is 0.19"
    assert not list(counted(900, 900, outside_period=cells(100)).cautions()), "by design"
    assert not list(counted(900, 0, no_prediction=cells(100)).cautions()), "there is nobody to compare with"
    (caution,) = counted(900, 990, no_prediction=cells(100, 10)).cautions()
    assert caution["ratio_low"] is None, "nobody is favourable"
    assert caution["text"] == "Caution: 10.0 of 100 women are left out and 1.0 of 100 men."


def test_the_probability_is_divided_by_the_groups_that_are_compared() -> None:
    groups = build_groups([(str(place), "monitored") for place in range(30)] + [("men", "reference")])
    left_out = np.zeros((32, 3), np.int64)
    counts = left_out + np.array([0, 400, 0])
    left_out[0, 2], left_out[-2, 2] = 30, 12

    assert measure_significance(Share(30, 430, 430), Share(12, 412, 412), pairs=1).p_value < 0.01
    assert not list(CountedRecords(attribute="town", groups=groups, counts=counts, left_out={"no_label": left_out}).cautions())


def test_records_without_a_group_are_compared_by_their_outcome() -> None:
    unknown = np.array([[0, 0, 0], [0, 0, 0], [20, 80, 5]])
    (caution,) = counted(400, 400, (200, 200), attribute_missing=unknown).cautions()

    assert (caution["left_out"], caution["of"], caution["group"]) == ([80, 20], [480, 420], None)
    assert caution["text"] == "Caution: 16.7 of 100 favourable and 4.8 of 100 unfavourable predictions have no known sex."


OTHERS = {"time_impossible", "outside_period", "beyond_newest", "sampled_out", "repeated_person", "no_partner", "not_rescored"} & set(
    REASONS
)
RECORD = st.tuples(
    st.integers(-1, 2), st.integers(0, 2), st.booleans(), st.booleans(), st.sets(st.sampled_from(sorted(OTHERS)), max_size=2)
)


def reason_of(group: int, outcome: int, lacks_answer: bool, lacks_value: bool, others: set[str]) -> str | None:  # noqa: FBT001 - drawn
    reasons = set(others)
    if outcome == 2:
        reasons.add("no_prediction" if lacks_answer else "outcome_unlisted")
    if group == -1:
        reasons.add("attribute_missing" if lacks_value else "in_no_group")
    return next((reason for reason in REASONS if reason in reasons), None)


@given(st.lists(RECORD, max_size=60))
def test_every_record_is_counted_or_left_out_for_its_first_reason(records: list[tuple[int, int, bool, bool, set[str]]]) -> None:
    groups = build_groups([("a", "monitored"), ("b", "monitored"), ("c", "reference")])
    codes, outcomes, lacks_answer, lacks_value = (np.array([record[place] for record in records], np.int64) for place in range(4))
    others = {reason: np.array([reason in record[4] for record in records], np.bool_) for reason in OTHERS}

    found = count_records(
        "town",
        groups,
        codes,
        outcomes,
        answers="predictions",
        lacks_answer=lacks_answer.astype(np.bool_),
        lacks_value=lacks_value.astype(np.bool_),
        excluded=others,
    )
    written = replace(found, words={"newest": "10,000", "other": "b.csv"}).to_json()

    assert found.of == len(records) == written["counted"] + sum(one["count"] for one in written["left_out"])
    assert all(cause["count"] == sum(group["count"] for group in cause["groups"]) for cause in written["left_out"])
    assert sum(group["of"] for group in written["groups"]) == len(records)
    assert sum(group["counted"] for group in written["groups"]) == written["counted"]
    first = [reason_of(*record) for record in records]
    assert {cause["reason"]: cause["count"] for cause in written["left_out"]} == {
        reason: first.count(reason) for reason in REASONS if reason in first
    }
    for caution in found.cautions():
        shares = [part / whole for part, whole in zip(caution["left_out"], caution["of"], strict=True)]
        assert abs(shares[0] - shares[1]) >= MIN_DIFFERENCE
        assert caution["ratio_low"] is None or caution["ratio_low"] <= caution["ratio_high"]
