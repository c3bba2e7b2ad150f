"""Planning from the traffic of a log."""

from functools import cache
from typing import Any

import pytest

from app.base.errors import InvalidInput
from app.library.hours_of_groups import follow_frame
from app.library.unlisted_groups import Plan, plan_frame
from tests.builders.decision_log import COLUMNS, log


@cache
def plan_of_log() -> Plan:
    (plan,) = plan_frame(log(), ratio=0.6, **COLUMNS)
    return plan


@pytest.mark.thorough
def test_the_plan_is_for_the_traffic_of_the_log() -> None:
    plan = plan_of_log()

    assert plan.counted.of == len(log())
    assert (plan.group, plan.reference) == ("woman", "man")
    assert plan.monitored_per_hour == pytest.approx(90, rel=0.05)
    assert plan.reference_per_hour == pytest.approx(210, rel=0.05)
    assert plan.reference_rate == pytest.approx(0.5, abs=0.02)
    assert plan.hours is not None
    assert plan.records == round(plan.hours * (plan.monitored_per_hour + plan.reference_per_hour))


@pytest.mark.thorough
def test_the_alarm_of_the_log_comes_within_the_planned_hours() -> None:
    plan = plan_of_log()
    alarm = follow_frame(log(), **COLUMNS).comparisons[0].episodes[0].alarm

    assert plan.hours is not None
    assert alarm - 150 < plan.hours


@pytest.mark.thorough
def test_more_comparisons_need_more_records() -> None:
    alone, labelled = plan_of_log().hours, plan_frame(log(), ratio=0.6, label="repaid", **COLUMNS)[0].hours

    assert alone is not None
    assert labelled is not None
    assert alone <= labelled


@pytest.mark.parametrize(
    ("change", "field"),
    [({"ratio": 0.8}, "ratio"), ({"ratio": 0}, "ratio"), ({"probability": 1}, "probability"), ({"time": "sex"}, "time")],
    ids=str,
)
def test_a_wrong_argument_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        plan_frame(log(60), **(COLUMNS | change))

    assert refused.value.problems[0].field == field
