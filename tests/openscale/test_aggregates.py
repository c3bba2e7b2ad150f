"""Metrics by interval, and filters of measurements by their tags."""

from datetime import UTC, datetime
from typing import Any

import pytest
from evenhand_openscale.aggregates import aggregate, intervals_of, read_aggregation
from evenhand_openscale.measurements import filtered, read_filter_by_definition, read_tag_filter
from evenhand_openscale.refused import Refused


def measurement(at: str, **values: float) -> dict[str, Any]:
    """A measurement of one metric by region, with a lower limit of 80."""
    found = [
        {"metrics": [{"id": "fairness_value", "value": value, "lower_limit": 80.0}], "tags": [{"id": "region", "value": region}]}
        for region, value in values.items()
    ]
    return {"metadata": {"id": at}, "entity": {"timestamp": at, "run_id": "one", "values": found, "issue_count": 2}}


NEWEST_FIRST = [
    measurement("2026-03-02T10:30:00Z", us=70.0, pl=90.0),
    measurement("2026-03-01T11:00:00Z", us=80.0),
    measurement("2026-03-01T10:10:00Z", us=60.0),
]


def groups(agg: str, interval: str | None, since: datetime, until: datetime, group: str | None = None) -> list[dict[str, Any]]:
    """Groups of the measurements above."""
    wanted = read_aggregation(agg, interval, group)
    ends = wanted.widen(since), wanted.widen(until, is_end=True)
    return aggregate(NEWEST_FIRST, wanted, intervals_of(wanted, *ends))


def test_each_interval_of_the_window_has_a_value_or_none() -> None:
    us, pl = groups("avg,count", "day", datetime(2026, 2, 28, 5, tzinfo=UTC), datetime(2026, 3, 2, 11, tzinfo=UTC))

    assert us["tags"] == [{"id": "region", "value": "us"}]
    (metric,) = us["metrics"]
    assert (metric["avg"]["value"], metric["count"]["value"]) == ([None, 70.0, 70.0], [0, 2, 1])
    assert metric["lower_limit"] == 80.0
    assert pl["metrics"][0]["avg"]["value"] == [None, None, 90.0]


@pytest.mark.parametrize(
    ("function", "value"),
    [("first", 60.0), ("last", 70.0), ("min", 60.0), ("max", 80.0), ("sum", 210.0), ("avg", 70.0), ("median", 70.0), ("count", 3)],
)
def test_without_an_interval_the_window_is_one(function: str, value: float) -> None:
    us, _ = groups(function, None, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))

    assert us["metrics"][0][function]["value"] == [value]


def test_a_function_of_one_metric_is_of_that_one_and_a_bare_one_of_each() -> None:
    window = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)

    assert groups("other:count", None, *window) == []
    (one,) = groups("other:count,:last", None, *window, group="none")
    assert one["metrics"][0].keys() == {"id", "lower_limit", "last"}


@pytest.mark.parametrize(
    ("interval", "starts"),
    [
        ("hour", ["2026-12-31T22:00", "2026-12-31T23:00", "2027-01-01T00:00"]),
        ("month", ["2026-12-01T00:00", "2027-01-01T00:00"]),
        ("week", ["2026-12-28T00:00"]),
        ("year", ["2026-01-01T00:00", "2027-01-01T00:00"]),
    ],
)
def test_intervals_are_those_of_the_calendar(interval: str, starts: list[str]) -> None:
    wanted = read_aggregation("last", interval, None)
    since, until = datetime(2026, 12, 31, 22, 15, tzinfo=UTC), datetime(2027, 1, 1, 0, 30, tzinfo=UTC)
    found = intervals_of(wanted, wanted.widen(since), wanted.widen(until, is_end=True))

    assert [one.isoformat(timespec="minutes").partition("+")[0] for one in found] == starts


@pytest.mark.parametrize(("agg", "interval"), [("mode", None), ("fairness_value:", None), ("last", "decade")])
def test_unknown_functions_and_intervals_are_refused(agg: str, interval: str | None) -> None:
    with pytest.raises(Refused):
        read_aggregation(agg, interval, None)


@pytest.mark.parametrize(
    ("sent", "regions"),
    [
        ("region:eq:us", ["us", "us", "us"]),
        ("region:in:[us,pl]", ["us", "pl", "us", "us"]),
        ("region:exists,segment:null", ["us", "pl", "us", "us"]),
        ("region:null", []),
        ("run_id:eq:one,region:eq:pl", ["pl"]),
    ],
)
def test_values_are_those_whose_tags_pass(sent: str, regions: list[str]) -> None:
    found = filtered(NEWEST_FIRST, read_tag_filter(sent))

    assert [value["tags"][0]["value"] for resource in found for value in resource["entity"]["values"]] == regions


def test_issues_are_counted_among_the_values_that_pass() -> None:
    newest, *_ = filtered(NEWEST_FIRST, read_tag_filter("region:eq:us"))
    (of_pl,) = filtered(NEWEST_FIRST, read_tag_filter("region:eq:pl"))

    assert (newest["entity"]["issue_count"], of_pl["entity"]["issue_count"]) == (1, 0)
    assert NEWEST_FIRST[0]["entity"]["issue_count"] == 2


def test_each_definition_has_filters_of_its_own() -> None:
    found = read_filter_by_definition("fairness.feature:in:[a,b],quality.region:null", ["fairness", "quality"])

    assert {name: [test.tag for test in tests] for name, tests in found.items()} == {"fairness": ["feature"], "quality": ["region"]}


@pytest.mark.parametrize("sent", ["feature", "feature:is:sex", "feature:in:sex", ":eq:sex", "feature:null:1", ",".join(["a:null"] * 21)])
def test_a_filter_that_is_none_is_refused(sent: str) -> None:
    with pytest.raises(Refused, match="filter"):
        read_tag_filter(sent)
    with pytest.raises(Refused, match="filter"):
        read_filter_by_definition(f"fairness.{sent}", ["fairness"])
