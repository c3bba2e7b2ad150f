"""Filters and orders of records as the SDK writes them, each against what the records themselves show."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.openscale import data_set_records
from app.store.database.engine import Database
from tests.builders.openscale import BASE, added, applicants, payload, read, subscription
from tests.databases import Databases
from tests.service import RunningService, running_service


class Logged:
    """A subscription with records and labels."""

    def __init__(self, service: RunningService) -> None:
        self.client = service.client
        self.id = added(self.client, "subscriptions", subscription())["metadata"]["id"]
        rows = applicants()
        added(self.client, f"data_sets/payload_logging.{self.id}/records", payload(rows, "call"))
        labelled = [{"sex": sex, "income": income, "age": age, "approved": int(income > 30_000)} for sex, income, age in rows]
        added(self.client, f"data_sets/feedback.{self.id}/records", labelled)


@pytest.fixture(scope="module")
def logged(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("filters")) as service:
            yield Logged(service)
        database.close()


def ids(logged: Logged, kind: str = "payload_logging", **query: Any) -> list[str]:  # noqa: ANN401 - parameters
    return [one["metadata"]["id"] for one in read(logged.client, f"data_sets/{kind}.{logged.id}/records", limit=1000, **query)["records"]]


def all_of(logged: Logged, condition: Callable[[dict[str, Any]], bool], kind: str = "payload_logging") -> list[str]:
    listed = read(logged.client, f"data_sets/{kind}.{logged.id}/records", limit=1000)["records"]
    return [one["metadata"]["id"] for one in listed if condition(one["entity"]["values"])]


@pytest.mark.parametrize(
    ("sent", "condition"),
    [
        ("sex:eq:female", lambda row: row["sex"] == "female"),
        ("sex:in:female;male,age:gte:40", lambda row: row["age"] >= 40),
        ("age:gt:40,age:lt:45", lambda row: 40 < row["age"] < 45),
        ("income:eq:60000.0", lambda row: row["income"] == 60_000),
        ("sex:like:%ale", lambda _: True),
        ("sex:like:%male", lambda row: row["sex"] == "female"),
        ("sex:like:m_le", lambda row: row["sex"] == "male"),
        ("prediction:eq:1,probability:gt:0.5", lambda row: row["prediction"] == 1),
        ("age:in:21;22", lambda row: row["age"] in (21, 22)),
        ("sex:null", lambda _: False),
        ("sex:nonnull,age:exists", lambda _: True),
        ("scoring_timestamp:gt:2001-01-01T00:00:00Z", lambda _: True),
        ("scoring_timestamp:lt:2001-01-01T00:00:00Z", lambda _: False),
    ],
)
def test_records_are_those_that_pass_the_filter(logged: Logged, sent: str, condition: Callable[[dict[str, Any]], bool]) -> None:
    wanted = all_of(logged, condition)

    assert ids(logged, filter=sent) == wanted
    path = f"data_sets/payload_logging.{logged.id}/records"
    assert read(logged.client, path, filter=sent, limit=0, include_total_count=True)["total_count"] == len(wanted)
    assert ids(logged, filter=sent, offset=1) == wanted[1:]


def test_labels_are_filtered_and_each_half_of_a_pair_by_the_other(logged: Logged) -> None:
    one = ids(logged)[0]
    added(logged.client, f"data_sets/feedback.{logged.id}/records", [{"id": one, "approved": 1}])

    assert ids(logged, "feedback", filter="sex:eq:female,approved:eq:1") == all_of(
        logged, lambda row: row["sex"] == "female" and row["approved"] == 1, "feedback"
    )
    assert ids(logged, filter=f"feedback.{logged.id}.approved:eq:1") == [one]
    assert ids(logged, filter=f"feedback.{logged.id}.approved:eq:0") == []
    assert ids(logged, "feedback", filter=f"payload_logging.{logged.id}.scoring_id:eq:{one}") == [one]


def test_records_are_sorted_by_a_column_or_drawn_with_a_seed(logged: Logged) -> None:
    rows = {one["metadata"]["id"]: one["entity"]["values"] for one in _records(logged)}
    ages = [rows[one]["age"] for one in ids(logged, order="age:desc")]

    assert ages == sorted(ages, reverse=True)
    assert ids(logged, order="age") == ids(logged, order="age:asc")
    drawn = ids(logged, order="random", seed=0.25)
    assert (sorted(drawn), drawn == ids(logged, order="random", seed=0.25)) == (sorted(rows), True)
    assert drawn != ids(logged, order="random", seed=0.5)


def _records(logged: Logged) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(logged.client, f"data_sets/payload_logging.{logged.id}/records", limit=1000)["records"]
    return found


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"filter": "colour:eq:red"}, "no field 'colour'; it has sex"),
        ({"filter": "sex:is:male"}, "'is' after 'sex' is none of eq"),
        ({"filter": "sex:gt:male"}, "no column of numbers"),
        ({"filter": "age:gt:old"}, "takes a number, found 'old'"),
        ({"filter": "age:gt:1_0"}, "takes a number"),
        ({"filter": "age:null:1"}, "takes no value"),
        ({"filter": "age:eq"}, "takes a value"),
        ({"filter": "scoring_timestamp:gt:soon"}, "must be a time"),
        ({"filter": "scoring_timestamp:in:2001-01-01"}, "is a time, which in cannot compare"),
        ({"filter": ",".join(["age:gt:1"] * 21)}, "at most 20 conditions"),
        ({"filter": "sex:eq:a\0"}, "NUL"),
        ({"order": "colour:asc"}, "no field 'colour'"),
        ({"seed": 0.5}, "order=random only"),
        ({"includes": "sex,colour"}, "no field 'colour'"),
    ],
)
def test_a_filter_that_is_none_is_refused_by_name(logged: Logged, query: dict[str, Any], says: str) -> None:
    answer = logged.client.get(f"{BASE}/data_sets/payload_logging.{logged.id}/records", params=query)

    assert (answer.status_code, says in answer.json()["errors"][0]["message"]) == (422, True), answer.text


def test_one_field_of_a_record_is_read_by_its_name(logged: Logged) -> None:
    path = f"{BASE}/data_sets/payload_logging.{logged.id}/records/call-1"

    assert [logged.client.get(f"{path}/{name}").json() for name in ("sex", "income", "probability")] == ["female", 60_000, 0.9]
    assert logged.client.get(f"{path}/colour").status_code == 404


def test_a_search_in_too_many_records_is_refused_and_a_plain_list_is_not(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_set_records, "MAX_SEARCHED", 10)
    path = f"{BASE}/data_sets/payload_logging.{logged.id}/records"
    answer = logged.client.get(path, params={"filter": "sex:eq:male"})

    assert (answer.status_code, "more than 10 records" in answer.text) == (422, True)
    assert len(ids(logged)) == 40


def test_records_of_all_schema_versions_have_the_same_columns_in_one_order(logged: Logged) -> None:
    mine = added(logged.client, "subscriptions", subscription("Versions"))["metadata"]["id"]
    path = f"data_sets/payload_logging.{mine}/records"
    added(logged.client, path, payload(applicants(2), "before"))
    columns = logged.client.get(f"/v1/deployments/{mine}").json()["features"]
    change = {"features": [{"name": "region", "type": "string"}, *columns]}
    assert logged.client.patch(f"/v1/deployments/{mine}", json=change).status_code == 200
    row = {"region": "north", "sex": "male", "income": 1.5, "age": 30}
    body = {"records": [{"id": "after", "features": row, "prediction": 1}]}
    assert logged.client.post(f"/v1/deployments/{mine}/payload-records", json=body).status_code == 200

    listed = read(logged.client, path, format="list")["records"]
    assert len({tuple(one["fields"]) for one in listed}) == 1
    found = [dict(zip(one["fields"], one["values"], strict=True)) for one in listed]
    assert [(one["region"], one["age"]) for one in found] == [("north", 30), (None, 21), (None, 20)]
    narrowed = read(logged.client, path, filter="region:null,age:gte:21")["records"]
    assert [one["entity"]["values"]["scoring_id"] for one in narrowed] == ["before-2"]
