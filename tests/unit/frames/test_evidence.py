"""Evidence over the hours of a DataFrame."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.library.hours_of_groups import ComparisonEvidence, Evidence, follow_frame
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import State
from tests.builders.decision_log import CHANGE, COLUMNS, START, log


@cache
def followed() -> Evidence:
    """The evidence of the whole log."""
    return follow_frame(log(), **COLUMNS)


def below(evidence: Evidence, metric: str = "disparate_impact") -> ComparisonEvidence:
    return next(
        comparison for comparison in evidence.comparisons if (comparison.metric, comparison.direction) == (metric, UnfairSide.BELOW)
    )


def test_a_group_that_falls_is_unfair_since_the_hour_in_which_it_fell() -> None:
    found = below(follow_frame(log(), each_record_another_person="Ann", **COLUMNS))

    assert found.state is State.UNFAIR
    assert found.since is not None
    assert abs((found.since - START).total_seconds() / 3600 - CHANGE) <= 1
    assert found.alarm_at is not None
    assert (found.alarm_at - START).total_seconds() / 3600 <= CHANGE + 15
    statement = found.statement
    assert (statement.row, statement.state, statement.interval_kind) == (1, "Unfair", "since the onset")
    assert statement.interval is not None
    assert statement.interval[0] is not None
    assert statement.interval[0] < 0.6 < (statement.interval[1] or 0)


def first_file(*, shares: tuple[float, ...] = (26 / 2475, 2450 / 10086)) -> pd.DataFrame:
    """The file of 12,561 records, without times; further shares are of further groups of 1,000."""
    names, sizes = ("woman", "man", "child", "other"), (2475, 10086, 1000, 1000)
    parts = [
        pd.DataFrame({"sex": name, "approved": np.where(np.arange(size) < round(share * size), "yes", "no")})
        for name, size, share in zip(names, sizes, shares, strict=False)
    ]
    return pd.concat(parts, ignore_index=True)


FIRST = {"attribute": "sex", "reference": "man", "prediction": "approved", "favourable": "yes"}


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ({}, "so evidence counts at a tenth."),
        ({"each_record_another_person": "Ann"}, "as declared by Ann on"),
        ({"person": "id"}, "counting each person's first record only."),
    ],
    ids=str,
)
def test_a_first_file_is_unfair_at_the_first_look_and_says_whose_records_it_counts(said: dict[str, str], condition: str) -> None:
    evidence = follow_frame(first_file().assign(id=range(12_561)), **FIRST, **said)
    found = below(evidence)

    assert (found.statement.state, found.episodes[0].alarm) == ("Unfair", 0)
    assert found.log_evidence[0] == pytest.approx(231.44 if said else 20.25, abs=0.006)
    assert condition in evidence.guarantee
    assert "96 % less often" in found.statement.sentence


def test_several_monitored_groups_are_one_more_comparison_together() -> None:
    shares = (26 / 2475, 2450 / 10086, 0.24, 0.25)
    evidence = follow_frame(first_file(shares=shares), monitored=["woman", "child", "other"], **FIRST)

    groups = dict.fromkeys(comparison.group for comparison in evidence.comparisons)
    assert list(groups) == ["woman", "child", "other", "monitored groups together"]
    assert {comparison.group for comparison in evidence.comparisons if comparison.episodes} == {"woman"}
    assert "for all 8 comparisons together" in evidence.guarantee


@pytest.mark.thorough
def test_a_model_blind_to_the_attribute_is_shown_fair_on_both_sides() -> None:
    frame = log()
    frame["approved"] = np.where(np.random.default_rng(2).random(len(frame)) < 0.5, "yes", "no")

    assert {comparison.state for comparison in follow_frame(frame, **COLUMNS).comparisons} == {State.SHOWN_FAIR}


def test_a_few_records_decide_nothing_and_the_missing_hours_are_told() -> None:
    frame = log(12, records=20)

    found = below(follow_frame(frame, **COLUMNS))

    assert found.state is State.UNDECIDED
    assert (found.since, found.alarm_at) == (None, None)
    assert found.more_hours is not None
    assert found.more_hours > 0


@pytest.mark.thorough
def test_labels_add_the_differences_of_rates_and_accuracy_keeps_the_sign_of_the_catalogue() -> None:
    frame = log()
    woman = frame["sex"] == "woman"
    late = frame["at"] >= START + pd.Timedelta(hours=CHANGE)
    frame["repaid"] = np.where(woman & late, np.where(frame["approved"] == "yes", "no", "yes"), frame["approved"])
    evidence = follow_frame(frame, label="repaid", **COLUMNS)

    metrics = {comparison.metric for comparison in evidence.comparisons}
    states = {(comparison.metric, comparison.direction): comparison.state for comparison in evidence.comparisons}
    assert metrics == {"disparate_impact", "true_positive_rate_difference", "false_positive_rate_difference", "accuracy_difference"}
    # reference - monitored: above 0 is worse for women
    assert states["accuracy_difference", UnfairSide.ABOVE] is State.UNFAIR
    assert states["true_positive_rate_difference", UnfairSide.BELOW] is State.UNFAIR


def test_only_the_first_record_of_a_person_counts() -> None:
    frame = log(60).assign(person=lambda one: np.arange(len(one)) // 2)
    frame.loc[0:3, "person"] = None
    evidence = follow_frame(frame, person="person", **COLUMNS)

    assert evidence.records.of == len(frame)
    assert evidence.records.counted == len(frame) // 2 + 2  # without an id each record counts


@pytest.mark.thorough
def test_the_order_of_the_records_does_not_matter() -> None:
    assert follow_frame(log().sample(frac=1, random_state=3), **COLUMNS).to_json() == followed().to_json()


@pytest.mark.parametrize(
    "write",
    [
        lambda at: at.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        lambda at: at.dt.tz_convert("Europe/Vienna").map(lambda one: one.isoformat()),
        lambda at: at.dt.tz_localize(None),
        lambda at: at.astype("datetime64[s, UTC]").astype("int64"),
        lambda at: at.astype("datetime64[ms, UTC]").astype("int64"),
        lambda at: at.astype("datetime64[s, UTC]").astype("int64") + 0.25,
    ],
    ids=["utc", "offset", "naive", "seconds", "milliseconds", "fractions"],
)
def test_times_are_read_in_every_usual_form(write: Callable[[Any], object]) -> None:
    frame = log(30)
    evidence = follow_frame(frame.assign(at=write(frame["at"])), **COLUMNS)

    assert (evidence.first, evidence.hours) == (datetime(2026, 10, 5, tzinfo=UTC), 30)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"time": "sex"}, "time"),
        ({"time": "nothing"}, "time"),
        ({"limit": 1.2}, "limit"),
        ({"limit": True}, "limit"),
        ({"budget_hours": 0}, "budget_hours"),
        ({"prediction": None}, "prediction"),
        ({"reference": "other"}, "reference"),
        ({"person": "nobody"}, "person"),
        ({"person": "sex", "each_record_another_person": "Ann"}, "each_record_another_person"),
        ({"each_record_another_person": " "}, "each_record_another_person"),
        ({"favourable": "maybe"}, "favourable"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(change: dict[str, Any], field: str) -> None:
    if field == "reference":
        assert all(comparison.state is State.UNDECIDED for comparison in follow_frame(log(3), **COLUMNS | change).comparisons)
        return
    with pytest.raises(InvalidInput) as refused:
        follow_frame(log(3), **COLUMNS | change)
    assert refused.value.problems[0].field == field


@pytest.mark.thorough
def test_a_time_that_cannot_be_changes_no_figure_and_is_counted() -> None:
    frame = log(200)
    frame["at"] = frame["at"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    frame["person"] = range(len(frame))
    # Records that would change the figures: they are of the first hour, of one group, and all favourable.
    wrong = (
        frame[frame["sex"] == "woman"].iloc[:6].assign(approved="yes", at=[None, "yesterday", "1970-01-01", "2031-01-01", "", "2005-01-01"])
    )
    with_wrong = pd.concat([wrong, frame])

    found, right = follow_frame(with_wrong, person="person", **COLUMNS), follow_frame(frame, person="person", **COLUMNS)

    assert found.to_json()["comparisons"] == right.to_json()["comparisons"]
    assert (found.records.counted, found.first, found.hours) == (len(frame), right.first, right.hours)
    assert found.records.of == len(frame) + 6
    assert [(times.reason, times.count, times.record) for times in found.left_out] == [
        ("no time", 2, 1),
        ("not a time", 1, 2),
        ("default date", 1, 3),
        ("date without a time", 2, 4),
    ]


def test_records_without_any_usable_time_are_refused() -> None:
    for frame in (log(3).assign(at="yesterday"), log(3).iloc[:0]):
        with pytest.raises(InvalidInput) as refused:
            follow_frame(frame, **COLUMNS)
        assert refused.value.problems[0].field == "time"


@pytest.mark.thorough
def test_dates_are_followed_by_days_and_name_no_hour() -> None:
    frame, right = log(), below(followed())
    frame["at"] = frame["at"].dt.strftime("%d.%m.%Y")

    evidence = follow_frame(frame, time_format="%d.%m.%Y", **COLUMNS)

    found = below(evidence)
    assert right.since is not None
    # Of the day of the fall six hours are before it.
    assert found.to_json()["since"] in {f"{right.since:%Y-%m-%d}", f"{right.since + pd.Timedelta(days=1):%Y-%m-%d}"}
    assert len(found.to_json()["alarm_at"]) == len("2026-10-11")
    assert evidence.to_json()["days"] == 11
