"""Distributions of a data set: records counted by the values of their fields."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.store.database.engine import Database
from tests.builders.openscale import BASE, added, applicants, payload, read, subscription
from tests.databases import Databases
from tests.service import RunningService, running_service

WINDOW = {"start": "2001-01-01T00:00:00Z", "end": "2101-01-01T00:00:00Z"}


class Logged:
    """A subscription with records and labels."""

    def __init__(self, service: RunningService) -> None:
        self.client = service.client
        self.id = added(self.client, "subscriptions", subscription())["metadata"]["id"]
        added(self.client, f"data_sets/payload_logging.{self.id}/records", payload(applicants(), "call"))
        labelled = [{"sex": sex, "income": income, "age": age, "approved": int(income > 30_000)} for sex, income, age in applicants()]
        added(self.client, f"data_sets/feedback.{self.id}/records", labelled)

    def path(self, kind: str = "payload_logging") -> str:
        """Returns the address of a data set's distributions."""
        return f"data_sets/{kind}.{self.id}/distributions"

    def add(self, kind: str = "payload_logging", **asked: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Returns a distribution that was asked for."""
        return added(self.client, self.path(kind), {**WINDOW, "dataset": kind, **asked})


@pytest.fixture(scope="module")
def logged(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("distributions")) as service:
            yield Logged(service)
        database.close()


def test_records_are_counted_by_values_with_figures_of_other_fields(logged: Logged) -> None:
    found = logged.add(group=["sex", "prediction"], agg=["income:avg", "count", "age:max", "income:stddev"])["entity"]

    assert found["status"]["state"] == "active"
    assert found["distribution"]["fields"] == ["sex", "prediction", "income:avg", "count", "age:max", "income:stddev"]
    assert found["distribution"]["values"] == [
        ["male", 1, 40_000.0, 20, 59.0, 20_000.0],
        ["female", 0, 20_000.0, 10, 58.0, 0.0],
        ["female", 1, 60_000.0, 10, 56.0, 0.0],
    ]


def test_records_are_only_those_of_the_filter_and_the_window(logged: Logged) -> None:
    rich = logged.add(group=["sex"], filter="income:gt:30000,prediction:eq:1")["entity"]["distribution"]["values"]
    before = logged.add(group=["sex"], end="2001-01-02T00:00:00Z")["entity"]["distribution"]["values"]
    first = logged.add(group=["age"], limit=1)["entity"]["distribution"]["values"]

    assert (rich, before, len(first)) == ([["female", 10], ["male", 10]], [], 1)


def test_labels_are_counted_too(logged: Logged) -> None:
    assert logged.add("feedback", group=["approved"])["entity"]["distribution"]["values"] == [[0, 20], [1, 20]]


def test_a_distribution_is_found_again_by_its_id_and_by_no_other_data_set(logged: Logged) -> None:
    one = logged.add(group=["sex"])
    identifier = one["metadata"]["id"]

    assert read(logged.client, f"{logged.path()}/{identifier}")["entity"] == one["entity"]
    for path in (f"{logged.path('feedback')}/{identifier}", f"{logged.path()}/x", f"{logged.path()}/{identifier[:-4]}AAAA"):
        assert logged.client.get(f"{BASE}/{path}").status_code == 404
    assert logged.client.delete(f"{BASE}/{logged.path()}").status_code == 204


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"group": ["colour"]}, "'colour' is no field"),
        ({"group": ["scoring_timestamp"]}, "is no field by which"),
        ({"group": []}, "group"),
        ({"group": ["sex"], "agg": ["income:median"]}, "neither count nor"),
        ({"group": ["sex"], "agg": ["sex:sum"]}, "no field of numbers"),
        ({"group": ["sex"], "dataset": "feedback"}, "must be payload_logging"),
        ({"group": ["sex"], "filter": "colour:eq:red"}, "no field 'colour'"),
        ({"group": ["sex"], "start": "soon"}, "must be a time"),
        ({"group": ["sex"], "limit": 50_001}, "limit"),
        ({"group": ["sex"], "max_bins": 5}, "max_bins"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(logged: Logged, asked: dict[str, Any], says: str) -> None:
    answer = logged.client.post(f"{BASE}/{logged.path()}", json={**WINDOW, "dataset": "payload_logging", **asked})

    assert (answer.status_code, says in answer.json()["errors"][0]["message"]) == (422, True), answer.text
