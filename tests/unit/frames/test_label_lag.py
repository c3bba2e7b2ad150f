"""Labels that are still coming at the end of a log: what their figures leave out, and what is said."""

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.library.hours_of_groups import Evidence, follow_frame
from app.statistics.e_values.state_words import State
from tests.examples import many

DAYS = 50
END = pd.Timestamp("2026-10-20T23:00Z")


def draw_log(seed: int, *, days: tuple[float, float] = (1, 20), share: float = 1.0, records: int = 3_600) -> pd.DataFrame:
    """A model that is right in 80 of 100 cases of both; a label takes some days, a 1 of a woman others, and only a share ever comes."""
    rng = np.random.default_rng(seed)
    ages = np.sort(rng.uniform(0, DAYS, records))[::-1]
    sex, label = rng.choice(["m", "w"], ages.size, p=[0.6, 0.4]), rng.integers(0, 2, ages.size)
    takes = np.where((sex == "w") & (label == 1), days[1], days[0])
    is_known = (ages > takes) & (rng.random(ages.size) < share)
    right = rng.random(ages.size) < np.where(label == 1, 0.99, 0.6)
    return pd.DataFrame(
        {
            "t": END - pd.to_timedelta(ages, unit="D"),
            "sex": sex,
            "predicted": np.where(right, label, 1 - label),
            "actual": np.where(is_known, label, np.nan),
        }
    )


def follow(frame: pd.DataFrame, **more: float) -> Evidence:
    columns = {"attribute": "sex", "time": "t", "prediction": "predicted", "label": "actual"}
    return follow_frame(frame, reference="m", each_record_another_person="Ann", **columns, **more)  # type: ignore[arg-type]


def alarms(found: Evidence) -> list[str]:
    return [comparison.metric for comparison in found.comparisons if comparison.state is State.UNFAIR or comparison.episodes]


@pytest.mark.thorough
def test_labels_that_are_late_in_one_group_raise_no_alarm_and_are_said(snapshot: SnapshotAssertion) -> None:
    found = follow(draw_log(1))

    assert alarms(found) == []
    assert found.labels is not None
    assert "last 20 days" in found.labels
    assert found.labels == snapshot
    assert found.to_json()["labels"] == found.labels


@pytest.mark.thorough
def test_the_horizon_leaves_out_what_is_younger(snapshot: SnapshotAssertion) -> None:
    frame = draw_log(1)
    found = follow(frame, horizon=21 * 24)
    old = int((frame["t"] <= frame["t"].max() - pd.Timedelta(days=21)).sum())

    assert alarms(found) == []
    assert f"{old:,} of 3,600 records that are 21 days" in str(found.labels)
    assert found.labels == snapshot
    assert "36 hours" in str(follow(frame, horizon=36).labels)


@pytest.mark.thorough
def test_labels_that_are_said_to_be_complete_all_count() -> None:
    found = follow(draw_log(1, records=9_000), horizon=0)

    assert found.labels is None
    assert "accuracy_difference" in alarms(found)


def test_a_horizon_as_long_as_the_log_is_refused() -> None:
    with pytest.raises(InvalidInput, match="horizon: must be shorter than the log, found 2400 hours"):
        follow(draw_log(1), horizon=2_400)


def test_figures_of_the_labels_alone_wait_for_them_too() -> None:
    found = follow_frame(draw_log(1), attribute="sex", time="t", label="actual", reference="m")

    assert "20 days" in str(found.labels)
    assert alarms(found) == []


@pytest.mark.thorough
def test_labels_that_are_missing_all_the_time_are_not_still_coming() -> None:
    seeds = range(many(8))

    assert [follow(draw_log(seed, days=(0, 0), share=0.4)).labels for seed in seeds] == [None for _ in seeds]


@pytest.mark.thorough
def test_labels_that_take_a_day_leave_out_the_last_day() -> None:
    assert "of the last day 0 have one" in str(follow(draw_log(1, days=(1, 1))).labels)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(8))
def test_no_equal_model_raises_an_alarm_whose_labels_are_late(seed: int) -> None:
    assert alarms(follow(draw_log(seed))) == []
